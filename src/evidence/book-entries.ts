import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { errorMessage, TouchstonedError } from "../core/errors.ts";
import { readTextIfThere } from "../core/files.ts";
import { canonicalJson, sha256Hex } from "../core/json.ts";
import { judge, type Bounds, type Sweep, type Verdict } from "../verdict/index.ts";
import type { EvidenceEntry, FlatIdentity, Lowered, Scalar } from "./allowed.ts";
import { deviceKey, type DeviceKey } from "./device-key.ts";
import { outboxEntries } from "./outbox.ts";
import type { Evidence } from "./schema.ts";
import type { Source } from "./snapshot.ts";
import { verifyEvidence } from "./verify.ts";

/** An identity with dotted names and lists as canonical JSON, so that parts of it can be compared. */
export function flatIdentity(identity: object, before = ""): FlatIdentity {
  const flat: Record<string, Scalar> = {};
  for (const [name, value] of Object.entries(identity) as [string, unknown][]) {
    const path = `${before}${name}`;
    if (Array.isArray(value)) flat[path] = canonicalJson(value);
    else if (typeof value === "object" && value !== null) {
      Object.assign(flat, flatIdentity(value, `${path}.`));
    } else flat[path] = (value ?? null) as Scalar;
  }
  return flat;
}

/** What holds in a station today. */
export interface Rules {
  bounds: Bounds;
  text_answers: "same" | "any";
}

/** The tighter of each two bounds. */
function tighter(then: Bounds, today: Bounds): Bounds {
  const names = Object.keys(then) as (keyof Bounds)[];
  return Object.fromEntries(
    names.map((name) => [name, Math.min(then[name], today[name])]),
  ) as Bounds;
}

/** Where the kind of a text was enough then: a segment in which any answer was another one differs. */
function byWords(sweep: Sweep): Sweep {
  const levels = sweep.levels.map((level) => ({
    ...level,
    fidelity: { ...level.fidelity, structural_flips: level.fidelity.exact_flips },
  }));
  return { ...sweep, method: { ...sweep.method, text_answers: "same" }, levels };
}

interface Judged {
  verdict: Pick<Verdict, "recommended" | "max_safe">;
  lowered: Lowered | null;
}

/** Whether a number above the answer, below the first breach, only lacks the proof of its answers. */
function lacksProof({ levels, recommended, first_breach }: Verdict): boolean {
  const ceiling = first_breach?.slots ?? Infinity;
  return levels.some(
    ({ slots, gain, fidelity }) =>
      slots > recommended && slots < ceiling && gain === "accepted" && fidelity !== "proven",
  );
}

/**
 * What the recorded blocks are worth by the rules of today, where they are tighter: the next number
 * below that is proven. Numbers on the way were often measured only as far as the search needed.
 */
function judgeToday({ sweep, verdict }: Evidence, today: Rules): Judged {
  const bounds = tighter(verdict.bounds, today.bounds);
  const by_words = today.text_answers === "same" && sweep.method.text_answers !== "same";
  if (!by_words && isDeepStrictEqual(bounds, verdict.bounds)) return { verdict, lowered: null };
  const judged = judge(by_words ? byWords(sweep) : sweep, bounds);
  if (judged.recommended >= verdict.recommended) return { verdict, lowered: null };
  const why = judged.reason.replace(/^\d+: /, "").replace(/\.$/, "");
  const lowered = { from: verdict.recommended, why, unproven: lacksProof(judged) };
  return { verdict: judged, lowered };
}

function unbelieved(
  place: string,
  text: string,
  faults: string[],
  identity: object,
): EvidenceEntry {
  return {
    key: "",
    sha256: sha256Hex(text),
    place,
    identity: flatIdentity(identity),
    faults,
    complete: false,
    result: "unknown",
    recommended: 1,
    max_safe: 1,
    judged: null,
    created_ms: 0,
    oldest_ms: 0,
    committed: true,
  };
}

/** What a text claims to be of, believed by nobody: for the reason why it does not count. */
function claimedIdentity(text: string): object {
  try {
    const { identity } = JSON.parse(text) as { identity?: unknown };
    return typeof identity === "object" && identity !== null ? identity : {};
  } catch {
    return {};
  }
}

function entryOf(
  place: string,
  text: string,
  today: Rules,
  device: DeviceKey | string,
): EvidenceEntry {
  if (typeof device === "string") return unbelieved(place, text, [device], claimedIdentity(text));
  const { evidence, faults } = verifyEvidence(text, [device], judge);
  if (evidence === null || faults.length > 0) {
    return { ...unbelieved(place, text, faults, claimedIdentity(text)), key: evidence?.key ?? "" };
  }
  const { verdict, lowered } = judgeToday(evidence, today);
  return {
    key: evidence.key,
    sha256: sha256Hex(text),
    place,
    identity: flatIdentity(evidence.identity),
    faults: [],
    complete: evidence.sweep.complete,
    result: evidence.verdict.result,
    recommended: verdict.recommended,
    max_safe: verdict.max_safe,
    judged: lowered,
    created_ms: Date.parse(evidence.created),
    oldest_ms: Date.parse(evidence.oldest_measured),
    committed: true,
  };
}

function documentNames(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith(".json"))
      .sort();
  } catch {
    return []; // nothing was ever measured
  }
}

/** This device's key, or why nothing can be believed. */
function ownKey(state_dir: string, path: string): DeviceKey | string {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    return "this device has no key, so it cannot have signed it";
  }
  try {
    return deviceKey(state_dir);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return errorMessage(error);
  }
}

/** Everything in the book, believed or not, judged by the bounds of today. Slow: it checks each byte. */
export function readBookEntries(
  state_dir: string,
  today: Rules,
): {
  entries: EvidenceEntry[];
  device_key: string | null;
  /** What may change it. */
  sources: Pick<Source, "path" | "how">[];
} {
  const directory = join(state_dir, "evidence");
  const key_path = join(state_dir, "device.key");
  const paths = documentNames(directory).map((name) => join(directory, name));
  const device = ownKey(state_dir, key_path);
  const waiting = new Set(
    outboxEntries(state_dir).entries.map(({ evidence }) => `${evidence.key} ${evidence.created}`),
  );
  const entries = paths.flatMap((path) => {
    const text = readTextIfThere(path);
    if (text === undefined) return [];
    const entry = entryOf(path, text, today, device);
    const created = new Date(entry.created_ms).toISOString();
    return { ...entry, committed: !waiting.has(`${entry.key} ${created}`) };
  });
  return {
    entries,
    device_key: typeof device === "string" ? null : device.fingerprint,
    sources: [
      { path: directory, how: "link" },
      { path: join(state_dir, "outbox"), how: "link" },
      { path: key_path, how: "file" },
      ...paths.map((path) => ({ path, how: "file" }) as const),
    ],
  };
}
