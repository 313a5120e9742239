import fc from "fast-check";
import { expect } from "vitest";
import { isEnded, isRunning, type JobState } from "../../../src/queue/index.ts";
import { TEARS } from "../../helpers/fault-disk.ts";
import { INBOX, MIN_AGE_MS, RUNS } from "../intake/world.ts";
import { CAN } from "./sim-life.ts";
import { Sim, type StepExit } from "./sim.ts";
import type { Tally } from "./tally.ts";

const NAMES = ["a.yaml", "b.yml", "c.json"] as const;
const HOUR_MS = 3_600_000;
const FOLDERS = ["done", "failed", "rejected"] as const;

const name = fc.constantFrom(...NAMES);
const when = { step: fc.nat(60), kept: fc.nat(31), tear: fc.constantFrom(...TEARS) };

function one<T extends string, F extends object = object>(
  what: T,
  fields?: { [K in keyof F]: fc.Arbitrary<F[K]> },
): fc.Arbitrary<{ do: T } & F> {
  const values = fc.record(fields ?? ({} as { [K in keyof F]: fc.Arbitrary<F[K]> }));
  return values.map((given) => Object.assign({ do: what }, given as F));
}

/** What may happen, each as often as it deserves. */
export const command = fc.oneof(
  { weight: 10, arbitrary: one("drop", { name, good: fc.integer({ min: 0, max: 9 }) }) },
  { weight: 1, arbitrary: one("drop again", { name }) },
  { weight: 2, arbitrary: one("touch", { name, edit: fc.boolean() }) },
  { weight: 1, arbitrary: one("delete", { name }) },
  { weight: 2, arbitrary: one("cancel", { job: fc.nat(9) }) },
  { weight: 1, arbitrary: one("retry", { job: fc.nat(9) }) },
  {
    weight: 16,
    arbitrary: one("tick", {
      ms: fc.constantFrom(100, 2000, 5000, 28_000, 31_000, 31_000, 65_000, 65_000, 310_000),
    }),
  },
  {
    weight: 1,
    arbitrary: one("clock step", { ms: fc.constantFrom(HOUR_MS, -HOUR_MS) }),
  },
  { weight: 1, arbitrary: one("suspend") },
  { weight: 2, arbitrary: one("kill daemon") },
  { weight: 2, arbitrary: one("kill daemon at", when) },
  { weight: 1, arbitrary: one("kill both") },
  { weight: 1, arbitrary: one("power cut", when) },
  { weight: 6, arbitrary: one("start") },
  { weight: 1, arbitrary: one("stop") },
  {
    weight: 9,
    arbitrary: one("step exit", {
      exit: fc.constantFrom<StepExit>("ok", "ok", "ok", "error", "killed", "timeout", "incurable"),
    }),
  },
  { weight: 2, arbitrary: one("ask for a measurement", { name: fc.constantFrom("x", "y") }) },
  { weight: 6, arbitrary: one("calibration step") },
  {
    weight: 1,
    arbitrary: one("calibration refused", { exit_code: fc.constantFrom(3, 64, 75, 1) }),
  },
  { weight: 1, arbitrary: one("calibration dies") },
  { weight: 1, arbitrary: one("machine busy", { busy: fc.boolean() }) },
  { weight: 1, arbitrary: one("shell takes lock") },
  { weight: 2, arbitrary: one("shell gives lock back") },
  { weight: 1, arbitrary: one("disk fills") },
  { weight: 2, arbitrary: one("disk is freed") },
);
export type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** Two entries, the second waits for the first. */
function goodText(n: number): string {
  const entry = `runner: local\n    pack: packs/a.yaml\n    max_attempts: 2\n`;
  return (
    `entries:\n  - id: one\n    model: m${n}\n    ${entry}` +
    `  - model: m${n}b\n    after: [one]\n    ${entry}`
  );
}

/** Plays commands and checks after each what `fsck` checks, by the test's own means. */
export class Play {
  readonly #sim = new Sim();
  readonly #tally: Tally;
  #texts = 0;
  #last_text = "";
  /** Inodes of what a person put into the inbox. */
  readonly #dropped = new Set<bigint>();
  readonly #ended = new Map<string, JobState>();
  readonly #jobs = new Set<string>();

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  #path(file: string): string {
    return `${INBOX}/${file}`;
  }

  #drop(file: string, text: string): void {
    const { disk } = this.#sim.world;
    const path = this.#path(file);
    // Who drops a file by renaming takes no name that is in use.
    if (disk.exists(path)) return;
    disk.put(path, text);
    this.#last_text = text;
    this.#dropped.add(disk.inode(path));
  }

  async #person(work: () => Promise<unknown>): Promise<void> {
    if (this.#sim.disk_full) return;
    await work();
    this.#sim.life?.wake();
  }

  #job(nth: number): string | undefined {
    const jobs = [...this.#sim.memory.jobs.values()];
    return jobs[nth % Math.max(1, jobs.length)]?.id;
  }

  async #do(act: Command): Promise<void> {
    const sim = this.#sim;
    const { disk, clock } = sim.world;
    switch (act.do) {
      case "drop":
        this.#texts += 1;
        this.#drop(act.name, act.good > 0 ? goodText(this.#texts) : `entries: ${this.#texts}\n`);
        break;
      case "drop again":
        if (this.#last_text !== "") this.#drop(act.name, this.#last_text);
        break;
      case "touch": {
        const path = this.#path(act.name);
        if (!disk.exists(path)) break;
        this.#texts += 1;
        if (act.edit) disk.put(path, goodText(this.#texts));
        else disk.touch(path, BigInt(Math.round((clock.now_ms() + HOUR_MS) * 1e6)));
        break;
      }
      case "delete": {
        const path = this.#path(act.name);
        if (!disk.exists(path)) break;
        this.#dropped.delete(disk.inode(path));
        disk.remove(path);
        break;
      }
      case "cancel": {
        const id = this.#job(act.job);
        if (id !== undefined) await this.#person(() => sim.guest.cancel(id, clock.now_ms()));
        break;
      }
      case "retry": {
        const id = this.#job(act.job);
        if (id === undefined) break;
        await this.#person(async () => {
          const outcome = await sim.guest.retry(id, clock.now_ms());
          if (outcome.ok) this.#ended.delete(id);
        });
        break;
      }
      case "tick":
        await sim.advance(act.ms);
        break;
      case "clock step":
        clock.stepWall(act.ms);
        break;
      case "suspend":
        sim.sleep(8 * HOUR_MS);
        break;
      case "kill daemon":
        this.#crash(() => sim.died());
        break;
      case "kill daemon at":
        if (sim.life !== null) sim.life.dies_in = act.step;
        this.#tally.crashes += 1;
        break;
      case "kill both":
        this.#crash(() => {
          sim.died();
          sim.endStep("killed");
        });
        break;
      case "power cut":
        this.#crash(() => sim.powerCut((n) => (act.kept & (1 << (n % 5))) !== 0, act.tear));
        break;
      case "start":
        // Where one runs it is a second daemon, and nothing may come of it.
        if (sim.start() === undefined) this.#tally.refused_starts += 1;
        break;
      case "stop":
        sim.life?.stop();
        break;
      case "step exit":
        sim.endStep(act.exit);
        break;
      case "ask for a measurement":
        sim.idle.ask(act.name, clock.now_ms());
        sim.life?.wake();
        break;
      case "calibration step":
        sim.idle.child?.step();
        break;
      case "calibration refused": {
        const { exit_code } = act;
        sim.idle.child?.finish({ event: "refused", code: "some", exit_code, why: "so it is" });
        break;
      }
      case "calibration dies":
        sim.idle.child?.finish(null);
        break;
      case "machine busy":
        sim.idle.busy = act.busy;
        break;
      case "shell takes lock":
        if (sim.lockIsFree) sim.shell_holds_lock = true;
        break;
      case "shell gives lock back":
        sim.shell_holds_lock = false;
        break;
      case "disk fills":
        sim.disk_full = true;
        break;
      case "disk is freed":
        sim.disk_full = false;
        break;
      default:
        act satisfies never;
    }
  }

  #crash(how: () => void): void {
    how();
    this.#tally.crashes += 1;
  }

  async play(act: Command): Promise<void> {
    await this.#do(act);
    await this.#sim.settle();
    await this.#check();
  }

  /** The invariants of `fsck`. */
  async #check(): Promise<void> {
    const { guest } = this.#sim;
    expect(await guest.check()).toEqual([]);
    this.#checkJobs();
    this.#checkFiles();
  }

  #checkJobs(): void {
    const { jobs } = this.#sim.memory;
    // Nothing that was accepted is lost; `check` has seen to ids that are used twice.
    for (const id of this.#jobs) expect(jobs.has(id), id).toBe(true);
    let running = 0;
    for (const job of jobs.values()) {
      this.#jobs.add(job.id);
      if (isRunning(job)) running += 1;
      const before = this.#ended.get(job.id);
      const cancelled = before === "FAILED" && job.state === "CANCELLED";
      if (before !== undefined && !cancelled) expect([job.id, job.state]).toEqual([job.id, before]);
      if (isEnded(job)) this.#ended.set(job.id, job.state);
      expect(job.attempt_count).toBeLessThanOrEqual(job.max_attempts);
    }
    expect(running).toBeLessThanOrEqual(1);
    this.#checkIdle();
    // A step whose job was cancelled ends, unless nobody is there to end it.
    const { tree, life, disk_full } = this.#sim;
    if (life === null || disk_full || tree === null || tree.exit !== null) return;
    expect([tree.job_id, jobs.get(tree.job_id)?.state]).toEqual([tree.job_id, "IN_PROGRESS"]);
  }

  /** A calibration has the machine for itself, and lives no longer than its daemon. */
  #checkIdle(): void {
    const { idle, tree, life, shell_holds_lock } = this.#sim;
    if (idle.child === null) return;
    expect([tree?.exit ?? "none", shell_holds_lock, life === null]).not.toContain(null);
    expect([shell_holds_lock, life === null]).toEqual([false, false]);
  }

  /** How often each inode is to be found under the inbox. */
  #places(): Map<bigint, string[]> {
    const { disk } = this.#sim.world;
    const places = new Map<bigint, string[]>();
    for (const path of disk.tree(INBOX)) {
      const inode = disk.inode(path);
      places.set(inode, [...(places.get(inode) ?? []), path]);
    }
    return places;
  }

  #checkFiles(): void {
    const { memory, world } = this.#sim;
    const places = this.#places();
    // Nothing is deleted, and nothing is in two places.
    for (const inode of this.#dropped) expect(places.get(inode)?.length).toBe(1);
    for (const { id, placed_path, snapshot_path } of memory.submissions.values()) {
      const put_away = [...places.values()].flat().filter((path) => path.includes(`-${id}-`));
      expect(put_away.length, id).toBeLessThanOrEqual(1);
      if (placed_path !== null) expect(put_away).toEqual([placed_path]);
      expect(world.disk.exists(snapshot_path ?? ""), id).toBe(true);
    }
  }

  /** All trouble ends and steps end well: then all work is done and all files are put away. */
  async rest(): Promise<void> {
    const sim = this.#sim;
    sim.shell_holds_lock = false;
    sim.disk_full = false;
    sim.idle.busy = false;
    sim.idle.refusal = null;
    if (sim.life !== null) sim.life.dies_in = Infinity;
    for (let n = 0; n < 120; n += 1) {
      if (sim.life?.stopping === true) sim.life.stop();
      await sim.settle();
      sim.start();
      await sim.settle();
      sim.endStep("ok");
      await sim.settle();
      sim.idle.child?.step();
      await sim.settle();
      if (n % 4 === 3 && (await this.#isDone())) break;
      const now_ms = sim.world.clock.now_ms();
      const due_ms = (await sim.guest.nextDue(now_ms, CAN)) ?? now_ms;
      // Pauses of measurements grow to a day.
      const patience_ms = n < 40 ? MIN_AGE_MS + 1 : 3 * HOUR_MS;
      sim.world.clock.advance(Math.max(patience_ms, due_ms - now_ms));
      await sim.settle();
    }
    await this.#check();
    expect(await this.#left()).toEqual([]);
    await this.#count();
  }

  async #isDone(): Promise<boolean> {
    return (await this.#left()).length === 0;
  }

  /** What is not done yet, in words. */
  async #left(): Promise<string[]> {
    const { guest, world, lockIsFree, idle } = this.#sim;
    const { disk } = world;
    const open = (await guest.jobs()).filter((job) => !isEnded(job));
    const inInbox = disk
      .tree(INBOX)
      .filter((path) => !FOLDERS.some((folder) => path.startsWith(`${INBOX}/${folder}/`)));
    const unplaced = await guest.submissions({ placed: false });
    const known = new Set((await guest.submissions()).map(({ id }) => id));
    const strays = disk
      .tree(RUNS)
      .filter((path) => path.endsWith("/submission.json"))
      .filter((path) => !known.has(path.slice(-"/submission.json".length - 26).slice(0, 26)));
    return [
      ...open.map(({ id, state }) => `${id} ${state}`),
      ...inInbox,
      ...unplaced.map(({ id }) => `${id} not placed`),
      ...strays,
      ...[...idle.requests.keys()].map((key) => `${key} is not measured`),
      ...(lockIsFree ? [] : ["the lock is held"]),
    ];
  }

  async #count(): Promise<void> {
    const { guest } = this.#sim;
    const counts = await guest.counts();
    const tally = this.#tally;
    tally.submissions += (await guest.submissions()).length;
    tally.complete += counts.COMPLETE;
    tally.failed += counts.FAILED;
    tally.cancelled += counts.CANCELLED;
    tally.measured += this.#sim.idle.measured.length;
    tally.resumed += this.#sim.idle.resumed;
    for (const job of await guest.jobs()) {
      const history = await guest.history(job.id);
      tally.adopted += history.filter(({ kind }) => kind === "adopt").length;
    }
  }
}
