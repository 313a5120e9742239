import { readdirSync, readFileSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { writeFileAtomic } from "../core/files.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";
import { isAlive, processIdentity } from "../core/process-table.ts";
import { Said } from "./said.ts";

/** What the holder of a slot says about itself. For people, and for what else may run beside it. */
export interface LeaseInfo {
  pid: number;
  start_token: string;
  boot_id: string;
  slot: number;
  purpose: string;
  /** Which runner and model its requests go to. */
  runner: string | null;
  model: string | null;
  /** RFC 3339 */
  since: string;
}

function leaseFrom(value: unknown): LeaseInfo | undefined {
  const said = Said.from(value);
  const [pid, slot] = [said?.count("pid"), said?.count("slot")];
  const [start_token, boot_id] = [said?.exact("start_token"), said?.exact("boot_id")];
  const [purpose, since] = [said?.text("purpose"), said?.text("since")];
  const [runner, model] = [said?.textOrNull("runner"), said?.textOrNull("model")];
  if (pid === undefined || slot === undefined) return undefined;
  if (start_token === undefined || boot_id === undefined) return undefined;
  if (purpose === undefined || since === undefined) return undefined;
  if (runner === undefined || model === undefined) return undefined;
  return { pid, start_token, boot_id, slot, purpose, runner, model, since };
}

export type LeaseHolder = Pick<LeaseInfo, "purpose" | "runner" | "model">;

export function slotPath(lock_path: string, slot: number): string {
  return `${lock_path}.slot-${slot}`;
}

/** Numbers of the slot files that there are, lowest first. */
export function slotNumbers(lock_path: string): number[] {
  const start = `${basename(lock_path)}.slot-`;
  let names: string[];
  try {
    names = readdirSync(dirname(lock_path));
  } catch {
    return [];
  }
  return names
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((rest) => /^[1-9]\d{0,2}$/.test(rest))
    .map(Number)
    .sort((a, b) => a - b);
}

function infoPath(lock_path: string, slot: number): string {
  return `${slotPath(lock_path, slot)}.info`;
}

export function writeLeaseInfo(
  lock_path: string,
  slot: number,
  holder: LeaseHolder & { since: string },
): void {
  const identity = processIdentity(process.pid);
  if (identity === undefined) return;
  try {
    const text = prettyJson({ ...identity, slot, ...holder });
    writeFileAtomic(infoPath(lock_path, slot), text, 0o644);
  } catch {
    // Members of a group may lock the file without being allowed to write beside it.
  }
}

export function readLeaseInfo(lock_path: string, slot: number): LeaseInfo | undefined {
  try {
    const text = readFileSync(infoPath(lock_path, slot), "utf8");
    return leaseFrom(parseJsonLenient(text));
  } catch {
    return undefined; // none, or unreadable: then it says nothing
  }
}

export function removeLeaseInfo(lock_path: string, slot: number): void {
  if (readLeaseInfo(lock_path, slot)?.pid !== process.pid) return;
  try {
    unlinkSync(infoPath(lock_path, slot));
  } catch {
    // What stays is not believed: the slot is free.
  }
}

/** Those who hold a slot now, as they say it of themselves and where they are proven alive. */
export function livingLeases(lock_path: string): LeaseInfo[] {
  return slotNumbers(lock_path).flatMap((slot) => {
    const info = readLeaseInfo(lock_path, slot);
    return info !== undefined && isAlive(info) ? [info] : [];
  });
}

export function leaseText({ pid, purpose, since }: LeaseInfo): string {
  return `pid ${pid} (${purpose}) since ${since}`;
}

/** Where the lock's directory is, everything about its slots is, too. */
export function gatePath(lock_path: string): string {
  return join(dirname(lock_path), `${basename(lock_path)}.gate`);
}
