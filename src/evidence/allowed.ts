// How many requests scripts may send at once, decided from what was measured and what is there now.
// Pure, and without a schema library: what comes in was checked by whoever read it.

const DAY_MS = 86_400_000;
/** The clock that wrote a date may have been a little ahead of ours. */
const AHEAD_MS = 60_000;

export type Scalar = string | number | boolean | null;
/** An identity with dotted names, `runner.version`; lists as JSON. */
export type FlatIdentity = Readonly<Record<string, Scalar>>;

/** A number that bounds tighter than those of the measurement took back. */
export interface Lowered {
  /** What was recommended by the bounds of then. */
  from: number;
  /** Why it is less now, in words. */
  why: string;
  /** Whether a number between gains and breaks nothing, but its answers were never proven. */
  unproven: boolean;
}

/** What is kept of one document of evidence: everything that a decision needs. */
export interface EvidenceEntry {
  key: string;
  /** Hash of its text. */
  sha256: string;
  /** Where it is, for a person. */
  place: string;
  identity: FlatIdentity;
  /** Why it is not believed; empty where it was verified. */
  faults: string[];
  complete: boolean;
  result: string;
  /** Judged with the bounds of today where they are tighter than those of then. */
  recommended: number;
  max_safe: number;
  /** How today's bounds lowered it; null where they did not. */
  judged: Lowered | null;
  created_ms: number;
  oldest_ms: number;
  committed: boolean;
}

export interface ServingFacts {
  kv_type: string | null;
  flash_attention: string | null;
  batch: string | null;
}

/** What a production runner has now; see the runners' room, which reads it. */
export interface LiveFacts {
  version: string | null;
  slots: number;
  slots_source: "runner" | "service" | "declared";
  slots_note: string;
  context_per_slot: number | null;
  model: { id: string; digest: string | null };
  /** How it was started, as far as evidence depends on it; only where its kind has a command line. */
  serving?: { ok: true; options: ServingFacts } | { ok: false; reason: string };
}

export type LiveOutcome =
  | { ok: true; facts: LiveFacts; held_s: number | null; trouble: string | null }
  | { ok: false; reason: string; hint: string };

export interface AllowedInput {
  declared: number | "measured";
  /** Why the station may not say more than 1; null where it is trusted. */
  distrust: string | null;
  max_age_days: number;
  now_ms: number;
  /** Latest time that was seen here before, where the present one is behind it. */
  clock_behind_ms: number | null;
  runner: { name: string; kind: string };
  live: LiveOutcome;
  /** What must be the same now as when it was measured; null = cannot be told now. */
  expected: FlatIdentity;
  evidence: readonly EvidenceEntry[];
  /** Evidence is to be committed, so what is not yet is worth a word. */
  commits: boolean;
}

export interface Decision {
  allowed: number;
  reason: string;
  notes: string[];
  /** A number was declared and is not granted. */
  refused: boolean;
  /** A measurement would help, so it is asked for where one by itself can be of what is there. */
  wants_measurement: boolean;
  evidence: EvidenceEntry | null;
}

const NAMES: Readonly<Record<string, string>> = {
  device_key: "the device",
  hardware: "the hardware",
  processor: "the processor",
  memory_mb: "the memory",
  accelerators: "the accelerators",
  os_release: "the system's release",
  "runner.kind": "the kind of runner",
  "runner.version": "the runner's version",
  "runner.build": "the runner's build",
  "model.id": "the model",
  "model.digest": "the model's digest",
  quantization: "the quantization",
  context_per_slot: "the context of a slot",
  kv_type: "the type of the KV cache",
  flash_attention: "flash attention",
  batch: "the batch size",
  cache: "the cache",
};

/** Long texts are of no use to a person: two digests differ, whatever their digits. */
function shown(value: Scalar): string {
  const text = value === null ? "unknown" : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 12)}...`;
}

/** What is not as it was measured, in words; empty where everything that must be the same is. */
function differences(identity: FlatIdentity, expected: FlatIdentity): string[] {
  return Object.entries(expected).flatMap(([name, now]) => {
    const then = identity[name] ?? null;
    if (then === now) return [];
    const what = NAMES[name] ?? name;
    if (name === "device_key") return ["it is evidence of another device"];
    if (now === null) return [`${what} cannot be told now (measured: ${shown(then)})`];
    return [`${what} was ${shown(then)} and is ${shown(now)}`];
  });
}

function isOf(entry: EvidenceEntry, kind: string, model: LiveFacts["model"]): boolean {
  const { identity } = entry;
  if (identity["runner.kind"] !== kind) return false;
  const digest = identity["model.digest"] ?? null;
  return identity["model.id"] === model.id || (digest !== null && digest === model.digest);
}

function newest(entries: readonly EvidenceEntry[]): EvidenceEntry | undefined {
  return entries.toSorted((left, right) => right.created_ms - left.created_ms)[0];
}

function days(age_ms: number): string {
  const whole = Math.floor(age_ms / DAY_MS);
  if (whole >= 1) return whole === 1 ? "1 day ago" : `${whole} days ago`;
  const hours = Math.floor(age_ms / 3_600_000);
  return hours === 0 ? "less than an hour ago" : `${hours} h ago`;
}

/** Why the age of evidence forbids to answer from it; null where it is fresh. */
function staleness(entry: EvidenceEntry, input: AllowedInput): string | null {
  const { now_ms, max_age_days, clock_behind_ms } = input;
  const dates = [entry.oldest_ms, entry.created_ms];
  if (dates.some((date) => Number.isNaN(date))) return "its dates cannot be read";
  if (Math.max(...dates) > now_ms + AHEAD_MS) {
    return "it is dated in the future: the clock was set back, or its date is wrong";
  }
  if (clock_behind_ms !== null) {
    return `the clock was set back: it showed ${new Date(clock_behind_ms).toISOString()} before, so the age of evidence cannot be told`;
  }
  const age_ms = now_ms - entry.oldest_ms;
  if (age_ms <= max_age_days * DAY_MS) return null;
  return `its oldest measurement is ${Math.floor(age_ms / DAY_MS)} days old; ${max_age_days} is the limit`;
}

/** Why there is no number in it. */
function emptiness(entry: EvidenceEntry): string | null {
  if (!entry.complete) return "its sweep is not complete";
  if (entry.result === "too_noisy") return "the device was too noisy to tell a gain from chance";
  if (entry.result !== "measured") return `its result is ${entry.result}`;
  return null;
}

/** The evidence to answer from, or why there is none. */
function choose(
  input: AllowedInput,
  facts: LiveFacts,
): { entry: EvidenceEntry } | { reason: string } {
  const candidates = input.evidence.filter((entry) => isOf(entry, input.runner.kind, facts.model));
  if (candidates.length === 0) {
    const broken = input.evidence.find(({ faults }) => faults.length > 0);
    const besides = broken === undefined ? "" : `; ${broken.place}: ${broken.faults.join("; ")}`;
    return { reason: `never measured here: ${facts.model.id} with ${input.runner.kind}${besides}` };
  }
  const fitting = candidates.filter(
    (entry) =>
      entry.faults.length === 0 && differences(entry.identity, input.expected).length === 0,
  );
  const entry = newest(fitting);
  if (entry === undefined) {
    const last = newest(candidates);
    const why = last === undefined ? [] : [...last.faults];
    if (last !== undefined && why.length === 0)
      why.push(...differences(last.identity, input.expected));
    return {
      reason: `the evidence ${last?.key.slice(0, 8) ?? ""} does not hold: ${why.join("; ")}`,
    };
  }
  const doubt = staleness(entry, input) ?? emptiness(entry);
  return doubt === null
    ? { entry }
    : { reason: `the evidence ${entry.key.slice(0, 8)} is not enough: ${doubt}` };
}

function one(reason: string, more: Partial<Decision> = {}): Decision {
  return {
    allowed: 1,
    reason,
    notes: [],
    refused: false,
    wants_measurement: false,
    evidence: null,
    ...more,
  };
}

function liveText({ slots, slots_note }: LiveFacts): string {
  return `the runner has ${slots === 1 ? "1 slot" : `${slots} slots`} (${slots_note})`;
}

function fromEvidence(input: AllowedInput, facts: LiveFacts, entry: EvidenceEntry): Decision {
  const { declared } = input;
  const ceiling = declared === "measured" ? Number.POSITIVE_INFINITY : declared;
  const allowed = Math.max(1, Math.min(entry.recommended, ceiling, facts.slots));
  const notes: string[] = [];
  if (facts.slots < Math.min(entry.recommended, ceiling)) {
    const wanted = Math.min(entry.recommended, ceiling);
    notes.push(
      `${wanted} were measured to be good: give the runner ${wanted} slots (Ollama: \`touchstoned slots apply ${wanted}\`)`,
    );
  } else if (facts.slots > entry.recommended) {
    notes.push(
      `the runner keeps memory for ${facts.slots} slots, and ${entry.recommended} can be used with gain`,
    );
  }
  if (!entry.committed && input.commits) notes.push("the evidence is not committed yet");
  const when = days(input.now_ms - entry.oldest_ms);
  const reasons = [`${entry.recommended} measured ${when} (evidence ${entry.key.slice(0, 8)})`];
  if (typeof declared === "number") reasons.push(`concurrent_runs is ${declared}`);
  reasons.push(liveText(facts));
  if (facts.serving?.ok === false) {
    reasons.push(
      `its KV type, flash attention and batch cannot be read (${facts.serving.reason}), so what machine.yaml says of them counts`,
    );
  }
  const { judged } = entry;
  const lowered =
    judged === null
      ? ""
      : `; the bounds of today are tighter than those of then, by which it was ${judged.from}: ${judged.why}`;
  const wants_measurement = judged?.unproven === true && allowed === entry.recommended;
  const reason = `${reasons.join(", ")}${lowered}`;
  return { ...one(reason), allowed, notes, wants_measurement, evidence: entry };
}

/**
 * `min(recommended, declared, slots that the runner has)`, and 1 with the reason wherever one of them
 * is not known, not proven or in doubt.
 */
export function decide(input: AllowedInput): Decision {
  const { declared, live } = input;
  if (declared === 1) return one("concurrent_runs is 1, so nothing was asked");
  const asked = typeof declared === "number";
  if (input.distrust !== null) {
    return one(`the station is not trusted: ${input.distrust}`, { refused: asked });
  }
  if (!live.ok) {
    const reason = `what runner ${input.runner.name} has cannot be read: ${live.reason}`;
    return one(reason, { refused: asked, notes: [live.hint] });
  }
  const { facts, held_s, trouble } = live;
  const chosen = choose(input, facts);
  const decision =
    "entry" in chosen
      ? fromEvidence(input, facts, chosen.entry)
      : one(chosen.reason, { wants_measurement: true });
  const notes = [...decision.notes];
  if (held_s !== null) {
    notes.push(
      `${trouble ?? "the runner did not answer"}; what it said ${Math.round(held_s)} s ago still counts`,
    );
  }
  return { ...decision, notes, refused: asked && decision.allowed < declared };
}
