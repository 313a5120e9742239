import {
  decide,
  type Decision,
  type FlatIdentity,
  type LiveFacts,
  type LiveOutcome,
  type ServingFacts,
} from "./allowed.ts";
import { ownStartInVain } from "./own-start.ts";
import { errorMessage } from "../core/errors.ts";
import { clockBehind, heldLive, readSeen, seenPath, writeSeen, type Seen } from "./seen.ts";
import {
  readSnapshot,
  snapshotPath,
  sourceMark,
  type AllowedSnapshot,
  type SnapshotRunner,
} from "./snapshot.ts";

/** What is asked: by default the runner and the model that the policy names. */
export interface AllowedQuestion {
  runner?: string | undefined;
  model?: string | undefined;
}

/** How a runner is asked; it may tell more than is needed, which is kept and given back. */
type AskLive = (
  runner: SnapshotRunner,
  model: string | null,
  before: LiveFacts | null,
) => Promise<
  | { ok: true; facts: LiveFacts & { model: { file?: string | null } } }
  | { ok: false; passing: boolean; reason: string; hint: string }
>;

/** What an answer needs of the world. */
export interface AnswerWorld {
  state_dir: string;
  machine_path: string;
  program: string;
  boot_id: string;
  now_ms: number;
  uptime_s: number;
  ask: AskLive;
  /** Reads and checks everything anew; `file`: the weights whose digest is needed. Slow. */
  rebuild: (file: string | null) => Promise<AllowedSnapshot>;
}

export interface AllowedAnswer extends Decision {
  runner: string | null;
  model: string | null;
  declared: number | "measured" | null;
  max_age_days: number | null;
  live: (LiveFacts & { held_s: number | null }) | null;
  /** Path of the open wish for a measurement, where one was needed. */
  request: string | null;
}

const NOTHING: Omit<AllowedAnswer, "reason"> = {
  allowed: 1,
  notes: [],
  refused: false,
  wants_measurement: false,
  evidence: null,
  runner: null,
  model: null,
  declared: null,
  max_age_days: null,
  live: null,
  request: null,
};

/** 1, because of something that came before any evidence. */
export function answerOne(reason: string, notes: string[] = []): AllowedAnswer {
  return { ...NOTHING, reason, notes };
}

function pickRunner(
  snapshot: AllowedSnapshot,
  wanted: string | undefined,
): SnapshotRunner | { reason: string } {
  const { runners } = snapshot;
  const name = wanted ?? snapshot.runner;
  const known = runners.map((runner) => runner.name).join(", ");
  if (name !== null) {
    const found = runners.find((runner) => runner.name === name);
    if (found !== undefined) return found;
    return {
      reason: `there is no runner "${name}" in machine.yaml (it declares: ${known || "none"})`,
    };
  }
  const [only] = runners;
  if (only === undefined) return { reason: "machine.yaml declares no runner" };
  if (runners.length === 1) return only;
  return { reason: `which runner? local_models.runner or --runner names one of ${known}` };
}

/** What the runner says now, or what it said a while ago where it does not answer at the moment. */
async function lookLive(
  runner: SnapshotRunner,
  model: string | null,
  name: string,
  seen: Seen,
  world: AnswerWorld,
): Promise<{ live: LiveOutcome; fresh: LiveFacts | null; file: string | null }> {
  const answer = await world.ask(runner, model, seen.live[name]?.facts ?? null);
  if (answer.ok) {
    const { facts } = answer;
    const file = facts.model.digest === null ? (facts.model.file ?? null) : null;
    return { live: { ok: true, facts, held_s: null, trouble: null }, fresh: facts, file };
  }
  const held = answer.passing ? heldLive(seen, name, world.uptime_s) : null;
  if (held === null) return { live: answer, fresh: null, file: null };
  const { facts, age_s } = held;
  const trouble = `the runner does not answer (${answer.reason})`;
  return { live: { ok: true, facts, held_s: age_s, trouble }, fresh: null, file: null };
}

/** Digest of the weights that the server names, from the snapshot or, once for each file, read. */
async function withDigest(
  facts: LiveFacts,
  file: string | null,
  snapshot: AllowedSnapshot,
  world: AnswerWorld,
): Promise<LiveFacts> {
  if (file === null || snapshot.evidence.length === 0) return facts;
  const mark = sourceMark(file, "file");
  if (mark === "-") return facts;
  let known = snapshot.files[file];
  if (known?.mark !== mark) known = (await world.rebuild(file)).files[file];
  return known?.mark === mark
    ? { ...facts, model: { ...facts.model, digest: known.digest } }
    : facts;
}

/**
 * How the server was started says more than how machine.yaml would start one. Where neither tells it is
 * unknown, which is what no evidence of a setting fits.
 */
function servingOf({ expected }: SnapshotRunner, { serving }: LiveFacts): Partial<ServingFacts> {
  if (serving === undefined) return {};
  if (serving.ok) return serving.options;
  return "kv_type" in expected ? {} : { kv_type: null, flash_attention: null, batch: null };
}

function expectedOf(
  snapshot: AllowedSnapshot,
  runner: SnapshotRunner,
  facts: LiveFacts,
): FlatIdentity {
  const { digest, id } = facts.model;
  return {
    ...snapshot.device,
    ...runner.expected,
    ...servingOf(runner, facts),
    "runner.version": facts.version,
    "model.digest": digest,
    // One file under two names is one model.
    ...(digest === null ? { "model.id": id } : {}),
    ...(facts.context_per_slot === null ? {} : { context_per_slot: facts.context_per_slot }),
  };
}

/** Why a measurement that is made by itself would not be of what is in production. */
function inVain(
  snapshot: AllowedSnapshot,
  { name, own_start }: SnapshotRunner,
  expected: FlatIdentity,
): string | null {
  if (own_start === null) return null;
  const { file } = own_start;
  const known = file === null ? undefined : snapshot.files[file];
  const right = file !== null && known?.mark === sourceMark(file, "file");
  const digest = right ? (known?.digest ?? null) : null;
  return ownStartInVain(own_start, expected, { runner: name, digest });
}

async function measured(
  snapshot: AllowedSnapshot,
  runner: SnapshotRunner,
  model: string | null,
  world: AnswerWorld,
): Promise<{ answer: AllowedAnswer; in_vain: boolean }> {
  const path = seenPath(world.state_dir);
  const seen = readSeen(path, world.boot_id);
  const name = JSON.stringify([runner.name, runner.kind, runner.url, model]);
  const looked = await lookLive(runner, model, name, seen, world);
  const { live } = looked;
  if (live.ok) live.facts = await withDigest(live.facts, looked.file, snapshot, world);
  const input = {
    declared: snapshot.declared,
    distrust: null,
    max_age_days: snapshot.max_age_days,
    now_ms: world.now_ms,
    clock_behind_ms: null,
    runner,
    live,
    expected: live.ok ? expectedOf(snapshot, runner, live.facts) : {},
    evidence: snapshot.evidence,
    commits: snapshot.commits,
  };
  let decision = decide(input);
  const sha256 = decision.evidence?.sha256;
  const clock_behind_ms = sha256 === undefined ? null : clockBehind(seen, sha256, world.now_ms);
  if (clock_behind_ms !== null) decision = decide({ ...input, clock_behind_ms });
  writeSeen(path, seen, {
    name,
    facts: looked.fresh === null || !live.ok ? null : live.facts,
    uptime_s: world.uptime_s,
    now_ms: world.now_ms,
    evidence: snapshot.evidence.map((entry) => entry.sha256),
  });
  const vain = decision.wants_measurement ? inVain(snapshot, runner, input.expected) : null;
  const answer = {
    ...NOTHING,
    ...decision,
    reason: vain === null ? decision.reason : `${decision.reason}; ${vain}`,
    runner: runner.name,
    model: live.ok ? live.facts.model.id : model,
    declared: snapshot.declared,
    max_age_days: snapshot.max_age_days,
    live: live.ok ? { ...live.facts, held_s: live.held_s } : null,
  };
  return { answer, in_vain: vain !== null };
}

/** Puts the wish for a measurement down where one would help. */
async function withRequest(
  answer: AllowedAnswer,
  { kind, measured_as }: SnapshotRunner,
  world: AnswerWorld,
): Promise<AllowedAnswer> {
  const { wants_measurement, runner, reason } = answer;
  const model = measured_as ?? answer.model;
  if (!wants_measurement || runner === null || model === null) return answer;
  const { requestCalibration, requestKey, requestPath } = await import("./requests.ts");
  const key = requestKey(kind, model);
  const path = requestPath(world.state_dir, key);
  try {
    requestCalibration(world.state_dir, { key, runner, model, reason }, world.now_ms);
  } catch (error) {
    const note = `a measurement is needed, and the request for it cannot be written: ${errorMessage(error)}`;
    return { ...answer, notes: [...answer.notes, note] };
  }
  const note = `a measurement is asked for (${path}); \`touchstoned slots calibrate\` makes it`;
  return { ...answer, notes: [...answer.notes, note], request: path };
}

/**
 * How many requests scripts may send at once, with the reason. Reads a snapshot, asks the runner, and
 * loads what is slow only where a source of the snapshot has changed. Never throws for what is wrong
 * with configuration, evidence or runner: the answer is 1 then.
 */
export async function answerAllowed(
  question: AllowedQuestion,
  world: AnswerWorld,
): Promise<AllowedAnswer> {
  const snapshot =
    readSnapshot(snapshotPath(world.state_dir), world) ?? (await world.rebuild(null));
  if (snapshot.fault !== null)
    return answerOne(`the configuration cannot be used: ${snapshot.fault}`);
  const { declared, distrust, max_age_days } = snapshot;
  const asked = typeof declared === "number" && declared > 1;
  const known = { declared, max_age_days };
  if (declared === 1)
    return { ...answerOne("concurrent_runs is 1, so nothing was asked"), ...known };
  if (distrust !== null) {
    const answer = answerOne(`the station is not trusted: ${distrust}`);
    return { ...answer, ...known, refused: asked };
  }
  const runner = pickRunner(snapshot, question.runner);
  if ("reason" in runner) return { ...answerOne(runner.reason), ...known, refused: asked };
  const model = question.model ?? snapshot.model;
  const { answer, in_vain } = await measured(snapshot, runner, model, world);
  return in_vain ? answer : withRequest(answer, runner, world);
}
