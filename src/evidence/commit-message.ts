import { printable } from "../core/text.ts";
import { deviceName } from "./light.ts";
import type { OutboxEntry } from "./outbox.ts";

const MAX_SUBJECT = 100;

function oneLine(text: string): string {
  return printable(text.replaceAll(/\s+/g, " ")).trim();
}

/** Device, model, old and new number, and why; trailers for programs. */
export function commitMessage({ path, previous, evidence }: OutboxEntry): string {
  const { identity, verdict, key } = evidence;
  const now = String(verdict.recommended);
  const number =
    previous === null
      ? `${now} (first)`
      : previous === verdict.recommended
        ? `${now} (as before)`
        : `${previous} -> ${now}`;
  const device = deviceName(identity.device_key);
  const subject = `Slots on ${device}: ${number}, ${oneLine(identity.model.id)}`;
  const hardware = [identity.hardware, identity.processor].filter((name) => name !== null);
  const about = [
    `Device: ${device}${hardware.length === 0 ? "" : ` (${oneLine(hardware.join(", "))})`}`,
    `Model: ${oneLine(identity.model.id)}`,
    `Slots: ${previous === null ? "not measured before" : `${previous} before`}, ${now} now, safe up to ${verdict.max_safe}`,
    `Why: ${oneLine(verdict.reason)}`,
  ];
  const trailers = [`Evidence-Key: ${key}`, `Evidence-Path: ${path}.json`];
  return [subject.slice(0, MAX_SUBJECT), "", ...about, "", ...trailers, ""].join("\n");
}
