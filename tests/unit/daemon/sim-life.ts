import { TouchstonedError } from "../../../src/core/errors.ts";
import type { Clock } from "../../../src/core/clock.ts";
import type { Disk } from "../../../src/core/disk.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { silentLog } from "../../../src/core/log.ts";
import { Loop, type RunningJob } from "../../../src/daemon/loop.ts";
import { registerOwner, type Registered } from "../../../src/daemon/owner.ts";
import { Inbox } from "../../../src/intake/inbox.ts";
import type { IntakeWorld } from "../../../src/intake/ports.ts";
import type { Job, JobFailure } from "../../../src/queue/index.ts";
import { Crash } from "../../helpers/fault-disk.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { INBOX, MIN_AGE_MS, RUNS } from "../intake/world.ts";
import type { StepExit, StepTree, Sim } from "./sim.ts";

export const CAN = { runners: ["local"] };
const BEAT_MS = 60_000;
const TELL_AGAIN_MS = 5000;
const NEVER = new Promise<never>(() => {});
const LOG = silentLog();

const FAILURES: Record<StepExit, JobFailure["kind"] | null> = {
  ok: null,
  error: "error",
  killed: "error",
  timeout: "timeout",
  incurable: "incurable",
};

/** One life of the daemon's process: it may end between any two things that it does. */
export class Life {
  readonly sim: Sim;
  readonly pid: number;
  readonly clock: Clock;
  readonly store: MemoryStore;
  readonly #disk: Disk;
  readonly #stop_beats = new AbortController();
  readonly #hard = new AbortController();
  readonly #soft = new AbortController();
  #loop: Loop | null = null;
  alive = true;
  /** True from a stop on. */
  stopping = false;
  /** Dies before the thing with this number from now on. */
  dies_in = Infinity;

  constructor(sim: Sim, pid: number) {
    this.sim = sim;
    this.pid = pid;
    const { clock } = sim.world;
    this.clock = {
      now_ms: () => clock.now_ms(),
      monotonic_ms: () => clock.monotonic_ms(),
      sleep: async (ms, signal) => {
        if (this.alive) await clock.sleep(ms, signal);
        if (!this.alive) await NEVER;
      },
    };
    this.store = new MemoryStore({ disk: sim.memory, fault: (method) => this.#storeCall(method) });
    this.#disk = this.#ownDisk();
  }

  /** Before each thing that lasts. */
  tick(): void {
    if (!this.alive) throw new Crash();
    this.dies_in -= 1;
    if (this.dies_in >= 0) return;
    this.sim.died();
    throw new Crash();
  }

  #storeCall(method: string): void {
    this.tick();
    if (!this.sim.disk_full) return;
    throw new TouchstonedError({ code: "store_full", exitCode: 69, message: `${method}: full` });
  }

  /** The disk as this process sees it: what comes after its death does not happen. */
  #ownDisk(): Disk {
    const { disk } = this.sim.world;
    const guarded =
      <A extends unknown[], R>(call: (...args: A) => R) =>
      (...args: A): R => {
        if (!this.alive) throw new Crash();
        return this.sim.actAs(this, () => call.apply(disk, args));
      };
    // Each is called with its disk, by `guarded`.
    /* oxlint-disable typescript/unbound-method */
    return {
      readdir: guarded(disk.readdir),
      lstat: guarded(disk.lstat),
      read: guarded(disk.read),
      createSynced: guarded(disk.createSynced),
      create: guarded(disk.create),
      link: guarded(disk.link),
      rename: guarded(disk.rename),
      unlink: guarded(disk.unlink),
      mkdir: guarded(disk.mkdir),
      rmdir: guarded(disk.rmdir),
      syncDir: guarded(disk.syncDir),
      sync: guarded(disk.sync),
    };
    /* oxlint-enable typescript/unbound-method */
  }

  #intake(): IntakeWorld {
    return {
      ...this.sim.world.intake,
      paths: { inbox: INBOX, runs_dir: RUNS, state_dir: "/state" },
      disk: this.#disk,
      clock: this.clock,
      store: this.store,
      new_id: ulidSource(this.clock),
    };
  }

  /** In the order of the real composition root; returns when the process has ended. */
  async run(): Promise<void> {
    const { sim, store, clock } = this;
    const identity = { pid: this.pid, start_token: `${this.pid}`, boot_id: "boot" };
    const owner = await registerOwner(store, clock.now_ms(), identity, "box");
    const adopted = await this.#adopt(owner.id);
    await this.#reap();
    const inbox = new Inbox(this.#intake(), { min_age_ms: MIN_AGE_MS });
    await inbox.recover();
    const loop = this.#makeLoop(owner, inbox);
    this.#loop = loop;
    if (this.stopping) this.stop();
    void this.#beat(owner.id);
    const step = { kind: "eval" as const, tree: null as never, started_ms: 0, log_path: "" };
    await loop.run(adopted === null ? null : { job: adopted, step });
    this.#stop_beats.abort();
    await inbox.close();
    await store.deregister(owner.id);
    sim.ended(this);
  }

  #makeLoop(owner: Registered, inbox: Inbox): Loop {
    const { sim, store, clock } = this;
    const ignore = (): void => {};
    const report = {
      warn: ignore,
      say: ignore,
      state: ignore,
      inboxBlocked: ignore,
      jobStarts: ignore,
      fileStuck: ignore,
      jobEnds: ignore,
      window: ignore,
    };
    return new Loop({
      store,
      inbox,
      report,
      clock,
      log: LOG,
      idle: sim.idle.workOf(this, sim, this.#hard.signal),
      summaries: {
        sync: async () => {},
        ids: () => [],
      },
      owner_id: owner.id,
      runners: CAN.runners,
      memory_mb: null,
      random: () => 0.05,
      uptime_ms: () => sim.uptime_ms(),
      refresh: async () => undefined,
      grown: () => false,
      barred: () => (sim.disk_full ? "disk low" : null),
      opensAt: async () => null,
      pulse: undefined,
      takeLock: async () => sim.takeLock(this),
      reap: () => this.#reap(),
      jobRun: (job) => this.#jobRun(job),
    });
  }

  /** What a person changed is looked at now. */
  wake(): void {
    this.#loop?.wake("queue");
  }

  stop(): void {
    if (this.stopping && this.#loop !== null) this.#hard.abort();
    this.stopping = true;
    this.#soft.abort();
    this.#loop?.stop();
  }

  async #reap(): Promise<void> {
    try {
      await this.store.reap(this.clock.now_ms(), ({ pid }) =>
        pid === this.sim.life?.pid ? "alive" : "dead",
      );
    } catch (error) {
      if (error instanceof Crash) throw error;
    }
  }

  async #beat(id: string): Promise<void> {
    for (;;) {
      await this.clock.sleep(BEAT_MS, this.#stop_beats.signal);
      if (this.#stop_beats.signal.aborted) return;
      try {
        await this.store.beat(id, this.clock.now_ms());
        await this.#reap();
      } catch {
        // The next one tries again; a dead process beats no more.
      }
    }
  }

  /** The step that an earlier life left running: adopted where it is of use, else ended. */
  async #adopt(owner_id: string): Promise<Job | null> {
    const { sim, store } = this;
    const { record } = sim;
    if (record === null) return null;
    this.tick();
    if (record.tree.exit !== null) {
      sim.record = null;
      return null;
    }
    const job = await store.job(record.job_id);
    if (job?.state === "IN_PROGRESS" && job.fence === record.fence) {
      const outcome = await store.adopt(job.id, record.fence, owner_id, this.clock.now_ms());
      if (outcome.ok) return outcome.job;
    }
    record.tree.end("killed");
    sim.record = null;
    return null;
  }

  #jobRun(job: Job): RunningJob {
    const { store, sim, clock } = this;
    const { id, fence } = job;
    let tree: StepTree | null = null;
    const tell = async (exit: StepExit | "interrupted"): Promise<void> => {
      const now_ms = clock.now_ms();
      const kind = exit === "interrupted" ? null : FAILURES[exit];
      if (exit === "ok") await store.complete(id, fence, now_ms, { bundle_dir: job.bundle_dir });
      else if (kind === null) await store.interrupt(id, fence, now_ms, "stopped");
      else await store.fail(id, fence, now_ms, { kind, message: exit, step: "eval" });
    };
    const settle = async (exit: StepExit | "interrupted"): Promise<void> => {
      for (;;) {
        try {
          return await tell(exit);
        } catch (error) {
          if (error instanceof Crash) await NEVER;
          if (this.#hard.signal.aborted) return;
          await clock.sleep(TELL_AGAIN_MS, this.#hard.signal);
        }
      }
    };
    const work = async (adopted: boolean): Promise<void> => {
      if (!adopted) {
        const started = await store.start(id, fence, clock.now_ms());
        if (!started.ok) return;
        if (sim.results.has(id)) return settle("ok");
        if (this.#soft.signal.aborted) return settle("interrupted");
        this.tick();
        sim.startStep(this, job);
      }
      tree = sim.record?.tree ?? null;
      const exit = tree === null ? "killed" : await sim.exitOf(tree, this.#hard.signal);
      if (!this.alive) return NEVER;
      this.tick();
      sim.record = null;
      await settle(exit);
    };
    return {
      async look() {
        const now = await store.job(id);
        if (now?.state !== "IN_PROGRESS" || now.fence !== fence) tree?.end("killed");
      },
      async run(lock, adopted) {
        try {
          await work(adopted !== undefined);
        } catch (error) {
          if (error instanceof Crash) await NEVER;
          await settle("interrupted");
        } finally {
          lock.release();
        }
      },
    };
  }
}
