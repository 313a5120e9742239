import { readFileSync } from "node:fs";
import { join } from "node:path";
import { corpusSummary, runSweep, segmentsOf, type Corpus } from "../../calibrate/index.ts";
import { fileTime, type Clock } from "../../core/clock.ts";
import { ulidSource } from "../../core/ids.ts";
import { contentHash, sha256Hex } from "../../core/json.ts";
import { commandText } from "../../core/process-table.ts";
import { evidenceKey, openRequest, writeEvidence, type Conditions } from "../../evidence/index.ts";
import { requestKey } from "../../evidence/light.ts";
import { readConditions, readDevice } from "../../probes/index.ts";
import { connectRunner } from "../../runners/index.ts";
import type { Sweep, Verdict } from "../../verdict/index.ts";
import { deviceIdentity } from "../slots/rebuild.ts";
import { refuseOtherModel, withLiveContext } from "./attached-wish.ts";
import { CheckpointDir, dropOldCheckpoints } from "./checkpoint.ts";
import { chooseCorpus } from "./corpus-choice.ts";
import { coldnessOf, modelFacts, openDevice, type SetupWorld } from "./device-setup.ts";
import { identityOf, type DeviceIdentity, type ModelDigest, type ServerFacts } from "./identity.ts";
import { binaryMark, methodOf } from "./method.ts";
import type { CalibrationPlan } from "./plan.ts";
import { liveShape, makeRoom, neighboursOf, refuseCompany, refuseHidden } from "./production.ts";
import { refusal } from "./refusal.ts";
import type { CalibrateOptions, CalibrationOutcome } from "./wish.ts";

const DAY_MS = 86_400_000;

const NO_FACTS: ServerFacts = { version: null, quantization: null, digest: null };

function promptsOf(corpus: Corpus): string[] {
  return corpus.segments.flatMap(({ turns }) =>
    turns.flatMap(({ messages }) => messages.map(({ content }) => content)),
  );
}

async function conditionsNow(clock: Clock): Promise<Conditions> {
  const { power_source, thermal, load } = await readConditions({ clock });
  return { power: power_source.value, thermal: thermal.value, load: load.value };
}

/** One calibration of one runner with one model, from the first look around to the evidence. */
export class Calibration {
  readonly #options: CalibrateOptions;
  #plan: CalibrationPlan;
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
    const { station, clock, wish } = this.#options;
    const { state_dir, runs_dir } = station;
    const { note } = this.#world;
    // Before anything of the production runner is touched: there may be nothing to measure with.
    const corpus = chooseCorpus({ path: wish.corpus, state_dir, runs_dir, note });
    const back = await makeRoom(this.#plan, clock, state_dir);
    try {
      const attached = this.#plan.residency === "attached";
      const except = attached ? this.#plan.settings.name : null;
      const neighbours = neighboursOf(station.machine, except, clock);
      await refuseCompany(this.#plan, neighbours);
      return await this.#measure(corpus, neighbours);
    } finally {
      const trouble = await back();
      if (trouble !== null) this.#world.note(`the production runner is not back: ${trouble}`);
    }
  }

  async #maxSlots(): Promise<number> {
    const { max_slots } = this.#options.station.settings.slots;
    if (this.#plan.residency === "own_start") return max_slots;
    const { settings } = this.#plan;
    const { clock, wish } = this.#options;
    const runner = connectRunner(settings, { clock });
    await refuseHidden(runner, commandText);
    await refuseOtherModel(this.#plan, runner);
    const live = await liveShape(settings, clock);
    this.#plan = withLiveContext(this.#plan, live.context, wish.context_per_slot);
    return Math.min(max_slots, live.slots);
  }

  async #measure(
    corpus: Corpus,
    neighbours: ReturnType<typeof neighboursOf>,
  ): Promise<CalibrationOutcome> {
    const { station, wish, clock, signal, give_way, onEvent } = this.#options;
    const { state_dir, runs_dir, settings } = station;
    const max_slots = await this.#maxSlots();
    const mark = binaryMark(this.#plan, this.#options.env);
    const { model, facts } = await modelFacts(this.#plan, this.#world);
    const cold = await coldnessOf(this.#plan);
    const { text_answers } = settings.slots;
    const method = methodOf(this.#plan, wish.max_tokens, {
      cold: cold.cold,
      max_slots,
      text_answers,
    });
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
        createRecorder: this.#options.createRecorder,
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
        ...(give_way === undefined ? {} : { give_way }),
        ...(wish.budget_s === undefined ? {} : { budget_s: wish.budget_s }),
        ...(wish.extras === undefined ? {} : { extras: wish.extras }),
        production_sampling: wish.production_sampling,
      });
      opened.close();
      const turns_sha256 = sha256Hex(readFileSync(opened.turns_path));
      const about = { device, model, facts: checkpoint.kept.facts ?? NO_FACTS, cold: cold.cold };
      const measured = { sweep, verdict, turns_sha256, conditions };
      return await this.#conclude({ ...measured, checkpoint, corpus, about, run, run_dir });
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
    const { first_breach } = verdict;
    if (first_breach?.slots === 1) {
      checkpoint.remove(); // with another context or corpus it is another sweep
      throw refusal(
        "context_too_small",
        `the corpus does not fit the context of a slot: ${first_breach.reason}. Nothing is measured, and the answer stays 1`,
        "Give each slot more (--context, or context_length in machine.yaml), or draw a corpus of shorter prompts (`touchstoned slots corpus`).",
      );
    }
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
