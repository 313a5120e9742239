import { EXIT, TouchstonedError } from "../../../src/core/errors.ts";
import type { Job } from "../../../src/queue/index.ts";
import { Crash, type Tear } from "../../helpers/fault-disk.ts";
import { emptyDisk } from "../../helpers/memory-disk.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { World } from "../intake/world.ts";
import { SimIdle } from "./idle/sim-idle.ts";
import { Life } from "./sim-life.ts";

export type StepExit = "ok" | "error" | "killed" | "timeout" | "incurable";

/** The processes of a step: they outlive the daemon. */
export class StepTree {
  readonly job_id: string;
  exit: StepExit | null = null;
  readonly #ended = new AbortController();

  constructor(job_id: string) {
    this.job_id = job_id;
  }

  get gone(): AbortSignal {
    return this.#ended.signal;
  }

  end(exit: StepExit): void {
    this.exit ??= exit;
    this.#ended.abort();
  }
}

const WRITES: ReadonlySet<string> = new Set(["open", "write", "mkdir", "link"]);
const LONGEST_TICK_MS = 30_000;

/** A machine with one station, its daemon, steps, a shell, and a person who sees to all of them. */
export class Sim {
  readonly world = new World();
  /** What SQLite has synced. */
  readonly memory = emptyDisk();
  /** The person's commands work on the store beside the daemon. */
  readonly guest = new MemoryStore({ disk: this.memory });
  life: Life | null = null;
  tree: StepTree | null = null;
  /** `running.json` */
  record: { job_id: string; fence: number; tree: StepTree } | null = null;
  /** Jobs whose bundles are whole on the disk. */
  readonly results = new Set<string>();
  readonly idle = new SimIdle();
  shell_holds_lock = false;
  disk_full = false;
  /** What went wrong in a daemon that should not. */
  fault: unknown = null;
  #lock_of: Life | null = null;
  #slept_ms = 0;
  #pids = 100;
  #acting: Life | null = null;

  constructor() {
    const { disk } = this.world;
    const step = (call: string, path: string): void => {
      this.#acting?.tick();
      if (!this.disk_full || this.#acting === null || !WRITES.has(call)) return;
      throw Object.assign(new Error(`ENOSPC: ${call} '${path}'`), { code: "ENOSPC" });
    };
    this.#watchDisk = () => void (disk.step = step);
    this.#watchDisk();
  }

  readonly #watchDisk: () => void;

  actAs<T>(life: Life, work: () => T): T {
    this.#acting = life;
    try {
      return work();
    } finally {
      this.#acting = null;
    }
  }

  uptime_ms(): number {
    return this.world.clock.monotonic_ms() + this.#slept_ms;
  }

  /** Lets everybody do what there is to do now. */
  async settle(): Promise<void> {
    for (let n = 0; n < 2; n += 1) await new Promise((resolve) => setImmediate(resolve));
    if (this.fault !== null) throw this.fault;
  }

  async advance(ms: number): Promise<void> {
    for (let left_ms = ms; left_ms > 0; left_ms -= LONGEST_TICK_MS) {
      this.world.clock.advance(Math.min(left_ms, LONGEST_TICK_MS));
      await this.settle();
    }
  }

  /** The wall clock and the time since boot go on, everything else stands still. */
  sleep(ms: number): void {
    this.#slept_ms += ms;
    this.world.clock.stepWall(ms);
  }

  /** Starts a daemon; undefined where one runs, as its lock would have it. */
  start(): Life | undefined {
    if (this.life !== null) return undefined;
    this.#pids += 1;
    const life = new Life(this, this.#pids);
    this.life = life;
    void this.#live(life);
    return life;
  }

  async #live(life: Life): Promise<void> {
    try {
      await life.run();
    } catch (error) {
      if (error instanceof Crash) return;
      const full = error instanceof TouchstonedError && error.code === "store_full";
      const disk = error instanceof Error && error.message.startsWith("ENOSPC");
      if (full || disk) this.ended(life);
      else this.fault = error;
    }
  }

  #gone(): void {
    if (this.life !== null) this.life.alive = false;
    this.life = null;
    this.#lock_of = null;
    // Its pipe ends.
    this.idle.child?.finish({ event: "gave_way" });
  }

  /** The daemon ended in order, or said why it cannot start. */
  ended(life: Life): void {
    if (this.life === life) this.#gone();
  }

  /** kill -9 of the daemon; its step goes on. */
  died(): void {
    this.#gone();
  }

  /** The power goes: of what was not synced, only what `kept` names is there afterwards. */
  powerCut(kept: (change: number) => boolean, tear: Tear): void {
    this.#gone();
    this.tree?.end("killed");
    this.shell_holds_lock = false;
    this.world.disk.crash(kept, tear);
    this.#watchDisk();
  }

  get lockIsFree(): boolean {
    const step = this.tree !== null && this.tree.exit === null;
    const calibrates = this.idle.child !== null;
    return !this.shell_holds_lock && this.#lock_of === null && !step && !calibrates;
  }

  takeLock(life: Life): { path: string; release(): void } {
    life.tick();
    if (!this.lockIsFree) {
      const message = "the model lock /model.lock is held by pid 1 (a shell)";
      throw new TouchstonedError({ code: "lock_busy", exitCode: EXIT.busy, message });
    }
    this.#lock_of = life;
    const release = (): void => {
      if (life.alive && this.#lock_of === life) this.#lock_of = null;
    };
    return { path: "/model.lock", release };
  }

  startStep(life: Life, { id, fence }: Job): void {
    if (this.tree !== null && this.tree.exit === null) throw this.#broken("two steps at once");
    if (this.#lock_of !== life) throw this.#broken("a step without the lock");
    if (this.shell_holds_lock) throw this.#broken("a step beside a shell that holds the lock");
    if (this.idle.child !== null) throw this.#broken("a step beside a calibration");
    this.tree = new StepTree(id);
    this.record = { job_id: id, fence, tree: this.tree };
  }

  #broken(what: string): Error {
    const error = new Error(what);
    this.fault = error;
    return error;
  }

  /** How the tree ended; `interrupted` where the second stop ended it. */
  async exitOf(tree: StepTree, hard: AbortSignal): Promise<StepExit | "interrupted"> {
    await new Promise<void>((resolve) => {
      const either = AbortSignal.any([tree.gone, hard]);
      if (either.aborted) resolve();
      either.addEventListener("abort", () => resolve(), { once: true });
    });
    if (tree.exit !== null) return tree.exit;
    tree.end("killed");
    return "interrupted";
  }

  /** The step that runs ends by itself or by somebody else's hand. */
  endStep(exit: StepExit): void {
    if (this.tree === null || this.tree.exit !== null) return;
    if (exit === "ok") this.results.add(this.tree.job_id);
    this.tree.end(exit);
  }
}
