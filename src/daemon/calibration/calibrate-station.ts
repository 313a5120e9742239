import { readFileSync, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import {
  corpusSummary,
  runSweep,
  segmentsOf,
  type Corpus,
  type ExtraWish,
  type SweepProgress,
} from "../../calibrate/index.ts";
import { fileTime, type Clock } from "../../core/clock.ts";
import { configError } from "../../core/errors.ts";
import { ulidSource } from "../../core/ids.ts";
import { contentHash, sha256Hex } from "../../core/json.ts";
import {
  evidenceKey,
  openRequest,
  writeEvidence,
  type CommitReport,
  type Conditions,
} from "../../evidence/index.ts";
import { requestKey } from "../../evidence/light.ts";
import { readConditions, readDevice } from "../../probes/index.ts";
import { connectRunner } from "../../runners/index.ts";
import {
  acquireModelLock,
  inheritedModelLock,
  resolveLockPath,
  type ModelLock,
  type Station,
} from "../../station/index.ts";
import { DEFAULT_METHOD, type Method, type Sweep, type Verdict } from "../../verdict/index.ts";
import { commandText } from "../../core/process-table.ts";
import { deviceIdentity } from "../slots/rebuild.ts";
import { CheckpointDir, dropOldCheckpoints } from "./checkpoint.ts";
import { chooseCorpus } from "./corpus-choice.ts";
import { coldnessOf, modelFacts, openDevice, type SetupWorld } from "./device-setup.ts";
import { fileMark } from "./file-digest.ts";
import { identityOf, type DeviceIdentity, type ModelDigest, type ServerFacts } from "./identity.ts";
import { planCalibration, type CalibrationPlan, type PlanWish } from "./plan.ts";
import { liveSlots, makeRoom, neighboursOf, refuseCompany, refuseHidden } from "./production.ts";

export interface CalibrationWish extends PlanWish {
  /** Path of a corpus; else the station's own. */
  corpus?: string | undefined;
  max_tokens?: number | undefined;
  extras?: readonly ExtraWish[] | undefined;
  budget_s?: number | undefined;
  /** Only where somebody asked for it. */
  if_requested?: boolean | undefined;
}

export type CalibrationEvent =
  | { kind: "note"; text: string }
  | { kind: "progress"; progress: SweepProgress };

export interface CalibrateOptions {
  station: Station;
  wish: CalibrationWish;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  lock_wait_s: number;
  signal?: AbortSignal | undefined;
  onEvent: (event: CalibrationEvent) => void;
  random?: () => number;
}

export interface CalibrationOutcome {
  result: "measured" | "too_noisy" | "incomplete" | "not_requested";
  runner: string;
  model: string;
  verdict: Verdict | null;
  /** Why the search ended. */
  stop: string;
  /** Key of the evidence, and its path below the station; null where there is none. */
  key: string | null;
  evidence_path: string | null;
  commit: CommitReport | null;
  /** Folder of the raw turns. */
  run_dir: string | null;
}

const MAX_TOKENS = 512;
const SEED = 42;
const DAY_MS = 86_400_000;

/** What is measured is the same only while the program that serves is the same file. */
function binaryMark(plan: CalibrationPlan, env: CalibrateOptions["env"]): string | null {
  const { binary } = plan.calibration;
  if (plan.residency === "attached" || binary === null) return null;
  const places = isAbsolute(binary)
    ? [binary]
    : (env["PATH"] ?? "").split(delimiter).map((dir) => join(dir, binary));
  for (const place of places) {
    try {
      return fileMark(realpathSync(place));
    } catch {
      // Not there: the next place.
    }
  }
  throw configError(
    `runner "${plan.settings.name}" cannot be started: there is no program ${binary}`,
    "Say where it is with calibration.binary in machine.yaml.",
  );
}

function methodOf(
  plan: CalibrationPlan,
  options: CalibrateOptions,
  parts: { cold: Method["cold"]; max_slots: number },
): Method {
  return {
    ...DEFAULT_METHOD,
    max_slots: parts.max_slots,
    context_per_slot: plan.context_per_slot,
    temperature: 0,
    seed: SEED,
    max_tokens: options.wish.max_tokens ?? MAX_TOKENS,
    cold: parts.cold,
    residency: plan.residency,
  };
}

async function conditionsNow(clock: Clock): Promise<Conditions> {
  const { power_source, thermal, load } = await readConditions({ clock });
  return { power: power_source.value, thermal: thermal.value, load: load.value };
}

/** One calibration of one runner with one model, from the first look around to the evidence. */
class Calibration {
  readonly #options: CalibrateOptions;
  readonly #plan: CalibrationPlan;
  readonly #world: SetupWorld;

  constructor(options: CalibrateOptions, plan: CalibrationPlan) {
    this.#options = options;
    this.#plan = plan;
    const { env, clock, signal, station, onEvent } = options;
    this.#world = {
      state_dir: station.state_dir,
      env,
      clock,
      new_id: ulidSource(clock),
      signal,
      note: (text) => onEvent({ kind: "note", text }),
    };
  }

  outcome(more: Partial<CalibrationOutcome>): CalibrationOutcome {
    return {
      result: "incomplete",
      runner: this.#plan.settings.name,
      model: this.#plan.model,
      verdict: null,
      stop: "",
      key: null,
      evidence_path: null,
      commit: null,
      run_dir: null,
      ...more,
    };
  }

  get requested(): boolean {
    const { kind } = this.#plan.settings;
    const { state_dir } = this.#options.station;
    return openRequest(state_dir, requestKey(kind, this.#plan.model)) !== undefined;
  }

  /** Under the model lock. */
  async run(): Promise<CalibrationOutcome> {
    const { station, clock } = this.#options;
    const back = await makeRoom(this.#plan, clock);
    try {
      const attached = this.#plan.residency === "attached";
      const except = attached ? this.#plan.settings.name : null;
      const neighbours = neighboursOf(station.machine, except, clock);
      await refuseCompany(this.#plan, neighbours);
      return await this.#measure(neighbours);
    } finally {
      const trouble = await back();
      if (trouble !== null) this.#world.note(`the production runner is not back: ${trouble}`);
    }
  }

  async #maxSlots(): Promise<number> {
    const { max_slots } = this.#options.station.settings.slots;
    if (this.#plan.residency === "own_start") return max_slots;
    const { settings } = this.#plan;
    await refuseHidden(connectRunner(settings, { clock: this.#options.clock }), commandText);
    return Math.min(max_slots, await liveSlots(settings, this.#options.clock));
  }

  async #measure(neighbours: ReturnType<typeof neighboursOf>): Promise<CalibrationOutcome> {
    const { station, wish, clock, signal, onEvent } = this.#options;
    const { state_dir, runs_dir, settings } = station;
    const { note } = this.#world;
    const corpus = chooseCorpus({ path: wish.corpus, state_dir, runs_dir, note });
    const max_slots = await this.#maxSlots();
    const mark = binaryMark(this.#plan, this.#options.env);
    const { model, facts } = await modelFacts(this.#plan, this.#world);
    const cold = await coldnessOf(this.#plan);
    const method = methodOf(this.#plan, this.#options, { cold: cold.cold, max_slots });
    const device = deviceIdentity(
      await readDevice({ cache_path: join(state_dir, "slots", "device.json") }),
    );
    const sweep_key = contentHash({
      mark,
      method,
      corpus: corpus.sha256,
      device,
      ...this.#about(model),
    });
    const max_age_days = settings.evidence.max_age_days;
    dropOldCheckpoints(state_dir, max_age_days * DAY_MS, clock.now_ms());
    const checkpoint = new CheckpointDir(state_dir, sweep_key);
    if (facts !== null) checkpoint.keep({ facts });
    const run = checkpoint.kept.run ?? `${fileTime(clock.now_ms())}-${sweep_key.slice(0, 8)}`;
    checkpoint.keep({ run });
    const conditions = await conditionsNow(clock);
    const run_dir = join(runs_dir, "slots", run);
    const opened = openDevice(
      {
        plan: this.#plan,
        corpus,
        cold,
        neighbours,
        temperature: method.temperature,
        seed: method.seed,
        max_tokens: method.max_tokens,
        run_dir,
        onFacts: (seen) => this.#meet(checkpoint, seen),
      },
      this.#world,
    );
    try {
      const { sweep, verdict } = await runSweep({
        device: opened.device,
        segments: segmentsOf(corpus),
        corpus: corpusSummary(corpus),
        method,
        bounds: settings.slots.bounds,
        clock,
        random: this.#options.random ?? Math.random,
        checkpoint,
        onProgress: (progress) => onEvent({ kind: "progress", progress }),
        max_age_days,
        ...(signal === undefined ? {} : { signal }),
        ...(wish.budget_s === undefined ? {} : { budget_s: wish.budget_s }),
        ...(wish.extras === undefined ? {} : { extras: wish.extras }),
      });
      opened.close();
      const turns_sha256 = sha256Hex(readFileSync(opened.turns_path));
      const about = { device, model, facts: checkpoint.kept.facts ?? NO_FACTS, cold: cold.cold };
      return await this.#conclude({
        sweep,
        verdict,
        checkpoint,
        corpus,
        about,
        conditions,
        run,
        run_dir,
        turns_sha256,
      });
    } finally {
      opened.close();
    }
  }

  /** What makes another sweep of it, beside the method and the device. */
  #about(model: ModelDigest): object {
    const { settings, calibration, model: id, context_per_slot } = this.#plan;
    const { args, env, model_file } = calibration;
    return {
      kind: settings.kind,
      url: settings.url,
      args,
      env,
      model_file,
      id,
      context_per_slot,
      model,
    };
  }

  /** Two versions in one sweep would be evidence of neither. */
  #meet(checkpoint: CheckpointDir, seen: ServerFacts): void {
    const before = checkpoint.kept.facts;
    if (before !== null && before.version !== seen.version) {
      this.#world.note(
        `the runner was ${before.version ?? "unknown"} and is ${seen.version ?? "unknown"} now`,
      );
    }
    checkpoint.keep({ facts: seen });
  }

  async #conclude(end: {
    sweep: Sweep;
    verdict: Verdict;
    checkpoint: CheckpointDir;
    corpus: Corpus;
    about: { device: DeviceIdentity; model: ModelDigest; facts: ServerFacts; cold: string };
    conditions: Conditions;
    run: string;
    run_dir: string;
    turns_sha256: string;
  }): Promise<CalibrationOutcome> {
    const { sweep, verdict, checkpoint, corpus, run_dir } = end;
    const told = { verdict, stop: sweep.stop, run_dir };
    if (!sweep.complete) return this.outcome({ ...told, result: "incomplete" });
    if (verdict.result !== "measured") {
      checkpoint.remove();
      return this.outcome({ ...told, result: verdict.result });
    }
    const { station, env, clock, random = Math.random } = this.#options;
    const written = await writeEvidence(
      {
        identity: identityOf(this.#plan, end.about),
        conditions: end.conditions,
        sweep,
        verdict,
        runs: [{ name: end.run, sha256: end.turns_sha256 }],
      },
      {
        root: station.root,
        state_dir: station.state_dir,
        mode: station.settings.evidence.commit,
        env,
        clock,
        random,
        prompts: promptsOf(corpus),
      },
    );
    checkpoint.remove();
    return this.outcome({
      ...told,
      result: "measured",
      key: evidenceKey(written.evidence.identity),
      evidence_path: written.path,
      commit: written.commit,
    });
  }
}

const NO_FACTS: ServerFacts = { version: null, quantization: null, digest: null };

function promptsOf(corpus: Corpus): string[] {
  return corpus.segments.flatMap(({ turns }) =>
    turns.flatMap(({ messages }) => messages.map(({ content }) => content)),
  );
}

async function takeLock(options: CalibrateOptions): Promise<ModelLock> {
  const { env, clock, signal, station, lock_wait_s, onEvent } = options;
  const inherited = inheritedModelLock(env);
  if (inherited !== undefined) return inherited;
  return acquireModelLock({
    path: resolveLockPath(env, station.machine).path,
    wait_s: lock_wait_s,
    holder: { purpose: "slots calibrate", run_id: null },
    clock,
    ...(signal === undefined ? {} : { signal }),
    onWait: ({ path, text }) =>
      onEvent({ kind: "note", text: `waiting for the model lock ${path}, ${text}` }),
  });
}

/**
 * Measures how many requests a runner of this machine can serve at once and writes the evidence. What
 * was measured is kept after each step, so that a calibration that is interrupted, killed or out of
 * time goes on when it is run again. Throws a refusal (exit 3) where it may not or cannot be measured
 * here, `lock_busy`, `not_alone` or `not_readable` (75) where it cannot now, and what the corpus, the
 * configuration and the evidence throw.
 */
export async function calibrateStation(options: CalibrateOptions): Promise<CalibrationOutcome> {
  const { station, wish } = options;
  if (!station.trusted) {
    throw configError(
      `nothing is measured for a station that is not trusted: ${station.trust_reason ?? ""}`,
      `\`touchstoned init ${station.root}\` trusts it, if you do.`,
      "not_trusted",
    );
  }
  const { local_models, defaults } = station.settings;
  const plan = planCalibration(station.machine, {
    runner: wish.runner ?? local_models.runner ?? defaults.runner,
    model: wish.model ?? local_models.model,
    context_per_slot: wish.context_per_slot,
  });
  const calibration = new Calibration(options, plan);
  if (wish.if_requested === true && !calibration.requested) {
    return calibration.outcome({ result: "not_requested", stop: "nobody asked for it" });
  }
  const lock = await takeLock(options);
  try {
    return await calibration.run();
  } finally {
    lock.release();
  }
}
