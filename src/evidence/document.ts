import { isoTime, type Clock } from "../core/clock.ts";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import { canonicalJson } from "../core/json.ts";
import { packageVersion } from "../core/program.ts";
import type { Sweep, Verdict } from "../verdict/index.ts";
import type { DeviceKey } from "./device-key.ts";
import { EVIDENCE_SCHEMA, evidenceKey, MAX_EVIDENCE_BYTES, signedText } from "./light.ts";
import { refusePrivate, type PrivateThings } from "./privacy.ts";
import {
  evidenceSchema,
  type Conditions,
  type Evidence,
  type Identity,
  type RawRun,
} from "./schema.ts";

export interface EvidenceParts {
  identity: Omit<Identity, "device_key">;
  conditions: Conditions;
  sweep: Sweep;
  verdict: Verdict;
  runs: readonly RawRun[];
}

/** When the oldest part that the verdict rests on was measured. RFC 3339. */
export function oldestMeasured(sweep: Sweep): string {
  const dates = [
    sweep.baseline.measured_from,
    sweep.baseline.start.started_at,
    ...sweep.levels.flatMap((level) => [level.measured_from, level.start.started_at]),
    ...sweep.ladder.map((start) => start.started_at),
  ];
  return isoTime(Math.min(...dates.map((date) => Date.parse(date))));
}

/** The newest date that a sweep holds. RFC 3339. */
export function newestMeasured(sweep: Sweep): string {
  const dates = [sweep.baseline, ...sweep.levels].map(({ measured_to }) => Date.parse(measured_to));
  return isoTime(Math.max(...dates));
}

function refusal(code: string, message: string, hint: string): TouchstonedError {
  return new TouchstonedError({ code, exitCode: EXIT.failed, message, hint });
}

/** The text of a document: its canonical JSON and one line end. */
export function evidenceText(evidence: Evidence): string {
  return `${canonicalJson(evidence)}\n`;
}

/**
 * Makes the signed document of a sweep. Throws (1) where the sweep is not whole or too noisy, where
 * the document would hold what must not be committed, and where it would be 64 KiB or larger.
 */
export function makeEvidence(
  parts: EvidenceParts,
  options: { device: DeviceKey; private_things: PrivateThings; clock: Clock },
): Evidence {
  const { sweep, verdict } = parts;
  if (!sweep.complete || verdict.result !== "measured") {
    const why = sweep.complete ? verdict.result : "incomplete";
    throw refusal(
      "not_evidence",
      `a sweep that is ${why.replaceAll("_", " ")} is not evidence: ${verdict.reason}`,
      "Calibrate again; what was measured so far is kept in its checkpoint.",
    );
  }
  const identity: Identity = { device_key: options.device.fingerprint, ...parts.identity };
  const unsigned = {
    schema: EVIDENCE_SCHEMA,
    key: evidenceKey(identity),
    identity,
    conditions: parts.conditions,
    sweep,
    verdict,
    raw: { runs: [...parts.runs] },
    created: isoTime(options.clock.now_ms()),
    oldest_measured: oldestMeasured(sweep),
    touchstoned: packageVersion(),
  } as const;
  refusePrivate(unsigned, options.private_things);
  const evidence = evidenceSchema.parse({
    ...unsigned,
    signature: options.device.sign(signedText(unsigned)),
  });
  const bytes = Buffer.byteLength(evidenceText(evidence));
  if (bytes >= MAX_EVIDENCE_BYTES) {
    throw refusal(
      "evidence_too_large",
      `this evidence would have ${bytes} bytes; ${MAX_EVIDENCE_BYTES - 1} is the limit of a file that people review`,
      "Measure fewer levels (slots.max_slots) or fewer extras; raw turns belong in runs/, by hash.",
    );
  }
  return evidence;
}
