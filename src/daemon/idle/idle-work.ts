import { isoTime, type Clock } from "../../core/clock.ts";
import { errorMessage } from "../../core/errors.ts";
import type { TreeMark } from "../../core/process.ts";
import type { Window } from "./window.ts";
import { CalibrationRun, type RunEnd, type StartChild } from "./calibration-run.ts";
import {
  decide,
  whyGiveWay,
  type DeviceNow,
  type IdleFacts,
  type IdlePlan,
  type IdlePolicy,
  type IdleRequest,
  type Waiting,
} from "./decide.ts";
import * as past from "./history.ts";
import type { ChildProgress, HousekeepReport } from "./protocol.ts";
import { endText, IDLE, progressOf, startText, type IdleSnapshot } from "./snapshot.ts";

export interface IdleDeps {
  clock: Clock;
  history: { load(): past.IdleHistory; save(history: past.IdleHistory): void };
  /** As the station is configured now. `commits`: evidence is to be committed. */
  settings: () => {
    policy: IdlePolicy;
    runners: readonly string[];
    configuration: string;
    commits: boolean;
  };
  requests: () => IdleRequest[];
  /** How many pieces of evidence wait for git, and whether there is any. */
  evidence: () => { outbox: number; any: boolean };
  device: () => Promise<DeviceNow>;
  window: (pattern: string | undefined, now_ms: number) => Promise<Window>;
  /** Why nothing new may begin; null where it may. */
  hindrance: () => string | null;
  start: () => Promise<StartChild>;
  housekeep: () => Promise<HousekeepReport>;
  /** Ends what an earlier daemon left running. */
  endOrphan: (tree: TreeMark) => Promise<void>;
  report: {
    say(text: string): void;
    warn(text: string): void;
    idle(snapshot: IdleSnapshot): void;
  };
  /** Ends everything at once. */
  hard: AbortSignal;
}

/** Work for idle hours that is to begin now, beside the loop. */
export interface IdleTask {
  kind: "calibrate" | "housekeep";
  run: () => Promise<void>;
}

interface Running {
  kind: IdleTask["kind"];
  key: string | null;
  calibration: CalibrationRun | null;
}

/** What the daemon does by itself while nothing waits: one thing at a time, each decided by `decide`. */
export class IdleWork {
  readonly #deps: IdleDeps;
  #history: past.IdleHistory | null = null;
  #running: Running | null = null;
  #snapshot: IdleSnapshot = IDLE;
  /** By request: what was said of it last, so that the log does not say it again and again. */
  readonly #said = new Map<string, string>();

  constructor(deps: IdleDeps) {
    this.#deps = deps;
  }

  /** What an earlier daemon left: its calibration is ended on proof of identity, and counted. */
  async #open(configuration: string): Promise<past.IdleHistory> {
    const history = this.#deps.history.load();
    const tree = history.begun?.tree ?? null;
    if (tree !== null) await this.#deps.endOrphan(tree);
    if (history.begun === null) return history;
    this.#deps.report.say(
      "a calibration of an earlier daemon was cut off; it goes on from its checkpoint",
    );
    const next = past.died(history, configuration, this.#deps.clock.now_ms());
    this.#deps.history.save(next);
    return next;
  }

  #keep(history: past.IdleHistory): void {
    if (history === this.#history) return;
    this.#history = history;
    try {
      this.#deps.history.save(history);
    } catch (error) {
      // A full disk: this daemon knows it all the same.
      this.#deps.report.warn(`what was tried cannot be written down: ${errorMessage(error)}`);
    }
  }

  get #past(): past.IdleHistory {
    return this.#history ?? past.NO_HISTORY;
  }

  #tell(change: Partial<IdleSnapshot>): void {
    const next = { ...this.#snapshot, ...change };
    const news = JSON.stringify(next) !== JSON.stringify(this.#snapshot);
    this.#snapshot = next;
    if (news) this.#deps.report.idle(next);
  }

  /** Everything that a decision needs; null where there is nothing to decide. */
  async #facts(round: { soon: boolean; barred: string | null }): Promise<IdleFacts | null> {
    const { clock, settings, requests, evidence, device, window, hindrance } = this.#deps;
    const open = requests();
    const { outbox, any } = evidence();
    const { policy, runners, configuration, commits } = settings();
    this.#history ??= await this.#open(configuration);
    if (open.length === 0 && outbox === 0 && !any && this.#running === null) return null;
    this.#keep(
      past.forget(
        this.#history,
        open.map(({ key }) => key),
      ),
    );
    const now_ms = clock.now_ms();
    const asked = open.length > 0;
    return {
      now_ms,
      policy,
      runners,
      configuration,
      requests: open,
      history: this.#past,
      window: asked ? await window(policy.window, now_ms) : { open: true, next_ms: null },
      device: asked ? await device() : { load: null, pressure: null, power: null },
      soon: round.soon,
      hindrance: round.barred ?? hindrance(),
      outbox: commits ? outbox : 0,
      has_evidence: any,
    };
  }

  /**
   * What is to be done now, and when to look again (wall clock). Where something is under way it is
   * looked whether that may go on.
   */
  async look(round: {
    soon: boolean;
    barred: string | null;
  }): Promise<{ task: IdleTask | null; look_at_ms: number | null }> {
    const facts = await this.#facts(round);
    if (facts === null) {
      this.#tell({ waiting: [] });
      return { task: null, look_at_ms: null };
    }
    if (this.#running !== null) {
      const { key } = this.#running;
      const why = key === null ? null : whyGiveWay(facts, key);
      if (why !== null) this.giveWay(why);
      return { task: null, look_at_ms: null };
    }
    const plan = decide(facts);
    this.#tell({ waiting: plan.waiting.map(({ request, why }) => ({ ...namesOf(request), why })) });
    for (const one of plan.waiting) this.#sayOnce(one);
    return { task: this.#task(plan, facts.configuration), look_at_ms: plan.look_at_ms };
  }

  /** What a person has to see to is worth a line in the log, once. */
  #sayOnce({ request, code, why }: Waiting): void {
    if (code !== "runner_gone" && code !== "unclear") return;
    if (this.#said.get(request.key) === code) return;
    this.#said.set(request.key, code);
    this.#deps.report.warn(`slots of ${request.model ?? "?"} are not measured: ${why}`);
  }

  #task({ work }: IdlePlan, configuration: string): IdleTask | null {
    if (work === null) return null;
    const { kind } = work;
    const key = kind === "calibrate" ? work.request.key : null;
    const { clock, hard } = this.#deps;
    const calibration = kind === "calibrate" ? new CalibrationRun(clock, hard) : null;
    this.#running = { kind, key, calibration };
    const doing = { ...startText(kind, clock.now_ms()) };
    this.#tell({
      doing: kind === "calibrate" ? { ...doing, ...namesOf(work.request) } : doing,
    });
    const run = async (): Promise<void> => {
      try {
        if (calibration === null || work.kind === "housekeep") await this.#housekeep();
        else await this.#calibrate(calibration, work.request, configuration);
      } finally {
        this.#running = null;
        this.#tell({ doing: null });
      }
    };
    return { kind, run };
  }

  /** The calibration ends at its next step boundary. Housekeeping takes seconds, and goes on. */
  giveWay(why: string): void {
    const calibration = this.#running?.calibration ?? null;
    if (calibration === null || calibration.gives_way) return;
    calibration.giveWay();
    const { doing } = this.#snapshot;
    if (doing === null) return;
    this.#deps.report.say(`slots of ${doing.model ?? "?"}: to give way after this step, ${why}`);
    this.#tell({ doing: { ...doing, giving_way: why } });
  }

  /** There may be something to draw a corpus from now. */
  jobEnded(): void {
    if (this.#history !== null) this.#keep(past.jobEnded(this.#history));
  }

  async #calibrate(
    calibration: CalibrationRun,
    request: IdleRequest,
    configuration: string,
  ): Promise<void> {
    const { clock, requests, report } = this.#deps;
    const ended = await this.#measure(calibration, request, configuration);
    const open = requests().some(({ key }) => key === request.key);
    const how = stillOpen(ended, open, configuration);
    const before = this.#past.keys[request.key]?.trouble?.code ?? null;
    this.#keep(past.end(this.#past, request, how, clock.now_ms()));
    const until_ms = this.#past.keys[request.key]?.trouble?.until_ms ?? null;
    const text = endText({
      model: request.model ?? "?",
      how,
      said: ended.said,
      doing: this.#snapshot.doing,
      until: until_ms === null ? null : isoTime(until_ms),
    });
    if (how.kind === "failed" || how.kind === "cannot") report.warn(text);
    else if (how.kind !== "not_now" || how.code !== before) report.say(text);
  }

  /** From its process's start to its end. Never rejects. */
  async #measure(
    calibration: CalibrationRun,
    request: IdleRequest,
    configuration: string,
  ): Promise<RunEnd> {
    const { clock, history, start, report } = this.#deps;
    try {
      const begun = past.begin(this.#past, request, clock.now_ms());
      // One that takes the machine down with it must be known to the daemon that comes after.
      history.save(begun);
      this.#history = begun;
      const hooks = {
        onTree: (tree: TreeMark) => this.#keep(past.started(this.#past, tree)),
        onProgress: (progress: ChildProgress) => this.#progressed(request, progress),
        onNote: (text: string) => report.say(`  ${text}`),
      };
      return await calibration.run(await start(), request, hooks, configuration);
    } catch (error) {
      const why = `it cannot be begun: ${errorMessage(error)}`;
      return { how: { kind: "failed", code: "not_begun", why, configuration }, said: null };
    }
  }

  #progressed(request: IdleRequest, progress: ChildProgress): void {
    const { doing } = this.#snapshot;
    if (doing === null) return;
    const { report } = this.#deps;
    if (doing.message === null) {
      const { steps_done } = progress;
      const how =
        steps_done === 0 ? `begins: ${request.reason}` : `goes on after ${steps_done} steps`;
      report.say(`measuring slots of ${request.model ?? "?"} with ${request.runner ?? "?"} ${how}`);
    } else if (progress.steps_done > doing.steps_done) {
      this.#keep(past.gained(this.#past));
    }
    this.#tell({ doing: progressOf(doing, progress) });
  }

  async #housekeep(): Promise<void> {
    const { clock, housekeep, report } = this.#deps;
    let waiting = this.#deps.evidence().outbox;
    try {
      const done = await housekeep();
      waiting = done.waiting;
      if (done.committed > 0) report.say(`evidence committed: ${done.committed}`);
      if (done.pruned > 0) report.say(`stale evidence and requests removed: ${done.pruned}`);
      for (const text of done.asked) report.say(`a new measurement is asked for: ${text}`);
      if (waiting > 0 && this.#said.get("outbox") !== done.reason) {
        report.say(`evidence is not committed yet: ${done.reason ?? "no reason is known"}`);
      }
      this.#said.set("outbox", waiting > 0 ? (done.reason ?? "") : "");
    } catch (error) {
      report.warn(`housekeeping: ${errorMessage(error)}`);
    }
    this.#keep(past.housekept(this.#past, waiting, clock.now_ms()));
  }
}

function namesOf({ key, runner, model }: IdleRequest) {
  return { key, runner, model };
}

/** A request that stays open although it was answered would be answered again at once, for ever. */
function stillOpen({ how, said }: RunEnd, open: boolean, configuration: string): past.End {
  if (!open) return how.kind === "measured" ? how : { kind: "quiet" };
  if (how.kind === "measured") {
    const why = "it was measured, and its request is open all the same";
    return { kind: "failed", code: "still_open", why, configuration };
  }
  if (said?.event !== "not_requested") return how;
  const why = "its request is not of that runner and model any more";
  return { kind: "cannot", code: "other_request", why, configuration };
}
