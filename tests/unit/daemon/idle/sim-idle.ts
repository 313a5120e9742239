import { ulidSource } from "../../../../src/core/ids.ts";
import type {
  CalibrationChild,
  ChildHooks,
  ChildOutcome,
  StartChild,
} from "../../../../src/daemon/idle/calibration-run.ts";
import type { IdleRequest } from "../../../../src/daemon/idle/decide.ts";
import { NO_HISTORY, type IdleHistory } from "../../../../src/daemon/idle/history.ts";
import { IdleWork, type IdleDeps } from "../../../../src/daemon/idle/idle-work.ts";
import type { ChildEnd } from "../../../../src/daemon/idle/protocol.ts";
import { Crash } from "../../../helpers/fault-disk.ts";
import type { Life } from "../sim-life.ts";
import type { Sim } from "../sim.ts";

const EXIT_0 = { exit_code: 0, signal: null, spawn_error: null };

/** The process of a calibration: it has the model lock, and ends with the daemon that started it. */
export class SimCalibration implements CalibrationChild {
  readonly #world: SimIdle;
  readonly #hooks: ChildHooks;
  readonly request: IdleRequest;
  readonly ended: Promise<ChildOutcome>;
  #resolve: (outcome: ChildOutcome) => void = () => undefined;
  asked = false;
  over = false;

  constructor(world: SimIdle, request: IdleRequest, hooks: ChildHooks) {
    this.#world = world;
    this.#hooks = hooks;
    this.request = request;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  finish(said: ChildEnd | null): void {
    if (this.over) return;
    this.over = true;
    this.#world.child = null;
    this.#resolve({ said, exit: EXIT_0, stderr: "" });
  }

  giveWay(): void {
    this.asked = true;
  }

  async end(): Promise<void> {
    this.finish(null);
  }

  /** The step under way ends: its work is kept, and the next one begins where nobody wants to. */
  step(): void {
    const { key } = this.request;
    const done = (this.#world.checkpoints.get(key) ?? 0) + 1;
    this.#world.checkpoints.set(key, done);
    this.progress(done);
    if (done >= this.#world.steps_needed) {
      this.#world.requests.delete(key);
      this.#world.checkpoints.delete(key);
      this.#world.measured.push(key);
      this.finish({ event: "measured", recommended: 2, max_safe: 3, commit_waits: null });
    } else if (this.asked) this.finish({ event: "gave_way" });
  }

  progress(done: number): void {
    const { steps_needed } = this.#world;
    const left_s = (steps_needed - done) * 60;
    this.#hooks.onProgress({
      message: "measuring",
      steps_done: done,
      steps_about: steps_needed,
      low_s: left_s,
      high_s: left_s,
    });
  }
}

/** What calibrations and their requests are like on the simulated machine. */
export class SimIdle {
  readonly requests = new Map<string, IdleRequest>();
  readonly checkpoints = new Map<string, number>();
  readonly measured: string[] = [];
  /** How often one was begun. */
  begun = 0;
  /** How often one went on from a checkpoint. */
  resumed = 0;
  steps_needed = 4;
  child: SimCalibration | null = null;
  /** `idle.json` */
  history: IdleHistory = NO_HISTORY;
  busy = false;
  /** What stands in the way of the next ones. */
  refusal: ChildEnd | null = null;

  ask(name: string, now_ms: number): void {
    const reason = "asked for";
    this.requests.set(name, { key: name, runner: "local", model: name, reason, asked_ms: now_ms });
  }

  #start(life: Life, sim: Sim): StartChild {
    const new_id = ulidSource(sim.world.clock);
    return (request, hooks) => {
      life.tick();
      hooks.onTree({ root: null, token: new_id() });
      // It may have died while it wrote that down, where nobody heard of it.
      if (!life.alive) throw new Crash();
      const child = new SimCalibration(this, request, hooks);
      this.begun += 1;
      if (this.refusal !== null) {
        child.finish(this.refusal);
        return child;
      }
      if (!sim.lockIsFree) {
        const why = "the model lock is held by somebody";
        child.finish({ event: "refused", code: "lock_busy", exit_code: 75, why });
        return child;
      }
      this.child = child;
      if (this.checkpoints.has(request.key)) this.resumed += 1;
      child.progress(this.checkpoints.get(request.key) ?? 0);
      return child;
    };
  }

  /** The idle hours of one life of the daemon. */
  workOf(life: Life, sim: Sim, hard: AbortSignal): IdleWork {
    const ignore = (): void => undefined;
    const deps: IdleDeps = {
      clock: life.clock,
      hard,
      report: { say: ignore, warn: ignore, idle: ignore },
      history: {
        load: () => this.history,
        save: (history) => {
          life.tick();
          this.history = history;
        },
      },
      settings: () => ({
        policy: { by_itself: true, max_load: 0.3, max_pressure: 0.05, power: "ac" },
        runners: ["local"],
        configuration: "",
        commits: true,
      }),
      requests: () => [...this.requests.values()],
      evidence: () => ({ outbox: 0, any: false }),
      device: async () => ({ load: this.busy ? 1 : 0, pressure: 0, power: "ac" }),
      window: async () => ({ open: true, next_ms: null }),
      hindrance: () => null,
      start: async () => this.#start(life, sim),
      housekeep: async () => ({ committed: 0, waiting: 0, reason: null, asked: [], pruned: 0 }),
      endOrphan: async () => this.child?.finish(null),
    };
    return new IdleWork(deps);
  }
}
