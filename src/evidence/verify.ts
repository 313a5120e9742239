import type { z } from "zod";
import { judge as judgeSweep, type Bounds, type Sweep, type Verdict } from "../verdict/index.ts";
import { newestMeasured, oldestMeasured } from "./document.ts";
import { checkEvidence, type DevicePublicKey } from "./light.ts";
import { evidenceSchema, type Evidence } from "./schema.ts";

export type Judge = (sweep: Sweep, bounds: Bounds) => Verdict;

export interface Verification {
  ok: boolean;
  faults: string[];
  /** Where it has the right schema, whatever else is wrong with it. */
  evidence: Evidence | null;
}

function schemaFaults(error: z.ZodError): string[] {
  return error.issues.slice(0, 5).map((issue) => {
    const where = issue.path.map(String).join(".");
    return `${where === "" ? "document" : where}: ${issue.message}`;
  });
}

/** The last digits of a logarithm are another machine's own. */
const ROUNDING = 1e-9;

/** Equal, but for the rounding of numbers. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one === "number" && typeof other === "number") {
    return Math.abs(one - other) <= ROUNDING * Math.max(1, Math.abs(one), Math.abs(other));
  }
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return one === other;
  }
  const [left, right] = [Object.entries(one), new Map(Object.entries(other))];
  return (
    Array.isArray(one) === Array.isArray(other) &&
    left.length === right.size &&
    left.every(([key, value]) => right.has(key) && same(value, right.get(key)))
  );
}

/** What differs first, by name: a reader wants to know where to look. */
function difference(recorded: Verdict, judged: Verdict): string {
  const names = Object.keys(judged) as (keyof Verdict)[];
  const name = names.find((key) => !same(recorded[key], judged[key])) ?? "result";
  const [was, is] = [recorded[name], judged[name]].map((value) => JSON.stringify(value));
  const shown =
    (was?.length ?? 0) + (is?.length ?? 0) > 120 ? "" : ` (recorded ${was}, follows ${is})`;
  return `its verdict does not follow from the recorded blocks: ${name} differs${shown}`;
}

function verdictFault(evidence: Evidence, judge: Judge): string[] {
  try {
    const answer = judge(evidence.sweep, evidence.verdict.bounds);
    // As it would be read back from a file: what is not there, and -0, have no JSON.
    const judged = JSON.parse(JSON.stringify(answer)) as Verdict;
    return same(evidence.verdict, judged) ? [] : [difference(evidence.verdict, judged)];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [`its recorded blocks cannot be judged: ${why}`];
  }
}

function contentFaults({ sweep, verdict, oldest_measured, created }: Evidence): string[] {
  const faults: string[] = [];
  if (!sweep.complete || verdict.result !== "measured") {
    faults.push("its sweep is not complete: it is not evidence");
  }
  if (Date.parse(oldest_measured) !== Date.parse(oldestMeasured(sweep))) {
    faults.push(`oldest_measured is not the date of its oldest step (${oldestMeasured(sweep)})`);
  }
  if (Date.parse(created) < Date.parse(newestMeasured(sweep))) {
    faults.push("it says that it was created before its last step was measured");
  }
  return faults;
}

/**
 * Everything that can be wrong with a document of evidence, offline and without any state: its form,
 * each byte of it, who signed it, and whether its verdict follows from what it recorded. Not its age:
 * old evidence is true, and stale (`freshness`).
 */
export function verifyEvidence(
  text: string,
  public_keys: readonly DevicePublicKey[],
  judge: Judge = judgeSweep,
): Verification {
  const light = checkEvidence(text, public_keys);
  const faults = light.ok ? [] : [light.fault];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, faults, evidence: null };
  }
  const checked = evidenceSchema.safeParse(value);
  if (!checked.success) {
    return { ok: false, faults: [...faults, ...schemaFaults(checked.error)], evidence: null };
  }
  const evidence = checked.data;
  faults.push(...contentFaults(evidence), ...verdictFault(evidence, judge));
  return { ok: faults.length === 0, faults, evidence };
}
