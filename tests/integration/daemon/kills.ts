import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { isAlive, processIdentity, treeMembers } from "../../../src/core/process-table.ts";
import { checkStation, openSetting, wakeDaemon } from "../../../src/daemon/index.ts";
import { stateFiles } from "../../../src/daemon/files.ts";
import { readRunning } from "../../../src/daemon/running-record.ts";
import { isEnded, isRunning, type Job } from "../../../src/queue/index.ts";
import { readRecord } from "../../../src/steps/index.ts";
import { lockStatus, openStation } from "../../../src/station/index.ts";
import { openSqliteStore, type Store } from "../../../src/store/index.ts";
import type { RunningCommand } from "../../helpers/command.ts";
import { random, testSeed } from "../../helpers/seeded.ts";
import { waitFor } from "../../helpers/wait.ts";
import { ownRunner } from "../steps/setting.ts";
import { DaemonStation } from "./setting.ts";

/** On a busy machine everything takes long, and none of that is what these tests are about. */
const PATIENCE_MS = 240_000;
/** Its multiples, modulo 1, lie evenly however many there are. */
const GOLDEN_RATIO = 0.618;
/** Looking into the store all the time would take a core from what is tested. */
const LOOK_MS = 300;
/** A job whose owner died twice is let alone: the third death would rightly be its end. */
const DEATHS_LEFT_ALONE = 2;

export type Victim = "daemon" | "step" | "both";

interface KillOptions {
  victim: Victim;
  kills: number;
  /** At most so many in the life of one queue file. */
  kills_per_file: number;
  seed: number;
  /** Of the queue file number n. */
  entries: (n: number) => Record<string, unknown>[];
}

interface KillReport {
  files: number;
  jobs: Job[];
  /** How many kills met what: `taking up`, `load 1`, `ending`, ... */
  phases: Record<string, number>;
  /** Files that were prepared before they were ripe; how many depends on the machine. */
  prepared: number;
}

/** Processes that belong to this station, by what they inherit: zombies have no environment. */
export function stationProcesses(home: string): number[] {
  const mark = `HOME=${home}`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, "utf8").split("\0").includes(mark);
      } catch {
        return false; // ended while we looked
      }
    })
    .map(Number);
}

function kill(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false; // it was faster
  }
}

/** Kills daemons and steps of one station while queue files run through it. */
class Killing {
  readonly #station: DaemonStation;
  readonly #options: KillOptions;
  readonly #next: () => number;
  readonly #phases: Record<string, number> = {};
  #daemon: RunningCommand | null = null;
  #files = 0;
  #kills = 0;
  /** How long a file takes where nobody is killed. */
  #span_ms = 0;

  private constructor(station: DaemonStation, options: KillOptions) {
    this.#station = station;
    this.#options = options;
    this.#next = random(options.seed);
  }

  static async run(station: DaemonStation, options: KillOptions): Promise<KillReport> {
    const killing = new Killing(station, options);
    return killing.#run();
  }

  get #name(): string {
    return `night-${this.#files}.json`;
  }

  async #store<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const path = stateFiles(this.#station.state_dir).store;
    const opened = await openSqliteStore({ path, now_ms: Date.now(), role: "guest" });
    try {
      return await work(opened.store);
    } finally {
      await opened.store.close();
    }
  }

  /** Jobs of the file that is under way; none as long as it is not taken up. */
  async #jobs(): Promise<Job[]> {
    return this.#store(async (store) => {
      const all = await store.submissions();
      const own = all.find((one) => one.file_name === this.#name);
      return own === undefined ? [] : store.jobsOf(own.id);
    });
  }

  async #restart(): Promise<void> {
    const running = this.#station.night.start("daemon");
    this.#daemon = running;
    await waitFor(
      "the daemon",
      () => {
        if (running.child.exitCode !== null) throw new Error(running.output().stderr);
        return /daemon of .* runs as/.test(running.output().stderr);
      },
      PATIENCE_MS,
    );
  }

  #running() {
    const record = readRunning(stateFiles(this.#station.state_dir).running);
    return record?.root != null && isAlive(record.root) ? record : undefined;
  }

  /** What the file was at when the kill came. */
  async #phase(): Promise<string> {
    const jobs = await this.#jobs();
    if (jobs.length === 0) return "taking up";
    if (jobs.every((job) => isEnded(job))) return "ending";
    const running = this.#running();
    const at = running === undefined ? undefined : jobs.find(({ id }) => id === running.job_id);
    if (running !== undefined && at !== undefined) return `${running.kind} ${at.index + 1}`;
    return `around the steps of ${(jobs.find((job) => !isEnded(job))?.index ?? 0) + 1}`;
  }

  #done(): boolean {
    return this.#station.placed("done").some((name) => name.endsWith(`-${this.#name}`));
  }

  /** Processes that may live: the daemon, and the tree of the step that it looks after. */
  #mayLive(): Set<number> {
    const pids = new Set<number>();
    const running = this.#running();
    if (running?.root != null) {
      pids.add(running.root.pid);
      for (const pid of treeMembers(running.root, running.token)) pids.add(pid);
    }
    const pid = this.#daemon?.child.pid;
    if (pid === undefined) return pids;
    const start_token = processIdentity(pid)?.start_token;
    for (const one of [pid, ...treeMembers({ pid, start_token }, "no token")]) pids.add(one);
    return pids;
  }

  /** The invariants, whatever the moment. */
  async #check(): Promise<void> {
    const { night } = this.#station;
    const env = { ...process.env, ...night.env };
    const station = await openStation({ explicit: night.root, env, cwd: night.root });
    const { rooms } = openSetting(station, systemClock, env);
    const lock_path = night.env["TOUCHSTONED_LOCK"] ?? "";
    const { violations } = await this.#store((store) =>
      checkStation({ ...station, store, lock_path, rooms }),
    );
    expect(violations).toEqual([]);
    let strangers: number[] = [];
    const alone = (): boolean => {
      const may = this.#mayLive();
      strangers = stationProcesses(night.home).filter((pid) => !may.has(pid));
      return strangers.length === 0;
    };
    await waitFor("orphans to end", alone, PATIENCE_MS).catch((error: unknown) => {
      throw new Error(`orphans: ${strangers.join(", ")}`, { cause: error });
    });
    await waitFor(
      "the lock to be free or held by a tree that lives",
      async () => {
        const { held, processes } = await lockStatus(lock_path);
        const may = this.#mayLive();
        return !held || processes.some(({ pid }) => may.has(pid));
      },
      PATIENCE_MS,
    );
  }

  /** A random moment; those of all files are spread evenly, so that no phase is left out. */
  #moment(first: boolean): number {
    // A step that was killed begins anew, and its entry takes half of the span.
    const part = this.#options.victim === "daemon" ? 4 : 2;
    if (!first) return (this.#span_ms * this.#next()) / part;
    return this.#span_ms * ((this.#files * GOLDEN_RATIO + this.#next() / 5) % 1);
  }

  /** Waits for the moment of the next kill; false where the file was done before. */
  async #await(first: boolean): Promise<boolean> {
    const { victim } = this.#options;
    const moment_ms = this.#moment(first);
    const stepOrDone = () => this.#running() !== undefined || this.#done();
    if (victim === "step") await this.#patiently("a step", stepOrDone);
    await delay(victim === "step" && first ? moment_ms / 2 : moment_ms);
    await this.#patiently("worn jobs to end", async () => {
      const worn = (await this.#jobs()).filter((job) => job.owner_deaths >= DEATHS_LEFT_ALONE);
      return worn.every((job) => isEnded(job));
    });
    if (victim !== "daemon") await this.#patiently("a step", stepOrDone);
    return !this.#done();
  }

  /** Kills, starts the daemon again where it was killed, checks. */
  async #strike(): Promise<void> {
    const { victim } = this.#options;
    const phase = await this.#phase();
    const step = victim === "daemon" ? undefined : this.#running()?.root?.pid;
    const daemon = victim === "step" ? undefined : this.#daemon?.child.pid;
    const killed = (this.#next() < 0.5 ? [daemon, step] : [step, daemon]).map(kill);
    if (killed.every((hit) => !hit)) return;
    this.#kills += 1;
    this.#phases[phase] = (this.#phases[phase] ?? 0) + 1;
    if (daemon !== undefined) {
      await this.#daemon?.finished;
      await this.#restart();
    }
    await this.#check();
  }

  /** Jobs that failed with their step are tried again at once, as a person would have it. */
  async #retryFailed(): Promise<void> {
    const failed = (await this.#jobs()).filter(({ state }) => state === "FAILED");
    if (failed.length === 0) return;
    await this.#store(async (store) => {
      for (const { id } of failed) await store.retry(id, Date.now());
    });
    wakeDaemon(stateFiles(this.#station.state_dir));
  }

  /** Waits while failed jobs are tried again; where that is in vain it says how things stand. */
  async #patiently(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    let retry_ms = 0;
    const lookAndRetry = async (): Promise<boolean> => {
      if (await look()) return true;
      if (this.#options.victim === "daemon" || performance.now() < retry_ms) return false;
      await this.#retryFailed();
      retry_ms = performance.now() + LOOK_MS;
      return false;
    };
    try {
      await waitFor(what, lookAndRetry, PATIENCE_MS);
    } catch (error) {
      const jobs = (await this.#jobs()).map(({ index, state, fence, failure, owner }) => {
        return `${index + 1} ${state} fence ${fence} ${owner ?? ""} ${failure?.message ?? ""}`;
      });
      const { stdout } = await this.#station.night.run("status");
      const said = this.#daemon?.output().stderr.slice(-2000) ?? "";
      const log = JSON.stringify({ kills: this.#kills, phases: this.#phases, jobs });
      throw new Error(`${log}\n${stdout}\n${said}`, { cause: error });
    }
  }

  #drop(): void {
    this.#files += 1;
    this.#station.drop(this.#name, this.#options.entries(this.#files));
  }

  async #untilDone(): Promise<void> {
    await this.#patiently(`${this.#name} in done/`, () => this.#done());
  }

  /** One queue file from its drop to its end. */
  async #file(): Promise<void> {
    const { kills, kills_per_file } = this.#options;
    this.#drop();
    for (let n = 0; n < kills_per_file && this.#kills < kills; n += 1) {
      // The first moment lies anywhere, the others after the taking-up: a text that is being parsed
      // when two daemons die is put aside, as it should be.
      if (n > 0) await this.#patiently("jobs", async () => (await this.#jobs()).length > 0);
      if (!(await this.#await(n === 0))) break;
      await this.#strike();
    }
    await this.#untilDone();
  }

  async #run(): Promise<KillReport> {
    const { kills } = this.#options;
    await this.#restart();
    // The first file is measured, and warms up caches.
    const begun_ms = performance.now();
    this.#drop();
    await this.#untilDone();
    this.#span_ms = performance.now() - begun_ms;
    while (this.#kills < kills) await this.#file();
    const daemon = this.#daemon;
    if (daemon !== null) await this.#station.stop(daemon);
    this.#daemon = null;
    await this.#check();
    const jobs = await this.#store((store) => this.#endedOnce(store));
    const folders = (["done", "failed", "rejected"] as const).map(
      (folder) => this.#station.placed(folder).length,
    );
    expect(folders).toEqual([this.#files, 0, 0]);
    const prepared = await this.#store((store) => this.#prepared(store));
    return { files: this.#files, jobs, phases: this.#phases, prepared };
  }

  /** What was prepared was begun before it was accepted; else both are one moment. */
  async #prepared(store: Store): Promise<number> {
    const submissions = await store.submissions();
    return submissions.filter((submission) => {
      const { created } = readRecord(dirname(submission.snapshot_path ?? ""));
      return Date.parse(created) < submission.accepted_at_ms;
    }).length;
  }

  /** Every job is COMPLETE, and became that once. */
  async #endedOnce(store: Store): Promise<Job[]> {
    const jobs = await store.jobs();
    for (const job of jobs) {
      const ends = (await store.history(job.id)).filter(({ to }) => to === "COMPLETE");
      expect([job.id, job.state, ends.length]).toEqual([job.id, "COMPLETE", 1]);
      // An interruption is no attempt.
      if (this.#options.victim === "daemon") expect(job.attempt_count).toBe(0);
    }
    expect(jobs.filter((job) => isRunning(job))).toEqual([]);
    return jobs;
  }
}

/** Who answers: a server that answers at once, or a real one that the daemon starts. */
type Server = "fake" | "real";

/** A station that takes files up soon: some of them are prepared before, and some are not. */
async function killStation(server: Server): Promise<DaemonStation> {
  const station = await DaemonStation.make();
  const { night } = station;
  if (server === "real") night.writeMachine({ runners: [ownRunner("own")] });
  night.write("touchstoned.yaml", "schema_version: 1\ninbox:\n  min_age_seconds: 1.5\n");
  return station;
}

const WHAT = { daemon: "the daemon", step: "the running step", both: "daemon and step" } as const;

/** Declares the test of one victim. */
export function killTest(
  victim: Victim,
  kills: number,
  limit_ms: number,
  server: Server = "fake",
): void {
  test(
    `kill -9 of ${WHAT[victim]}, ${kills} moments, ${server}`,
    { timeout: limit_ms },
    async () => {
      const id = server === "fake" ? "fake" : "tiny";
      const report = await Killing.run(await killStation(server), {
        victim,
        kills,
        kills_per_file: 6,
        seed: testSeed(),
        // Two entries, and no two files are the same.
        entries: (n) => ["a", "b"].map((half) => ({ model: { id, quant: `${half}${n}` } })),
      });
      const phases = JSON.stringify(report.phases);
      const { files, prepared } = report;
      console.error(
        `[tests] ${files} queue files, ${prepared} of them prepared; killed during: ${phases}`,
      );
      expect(report.jobs.length).toBe(2 * files);
      // The moments are spread over the whole way of a file: a test that only ever hits one phase of
      // it would show nothing.
      expect(Object.keys(report.phases).length).toBeGreaterThanOrEqual(victim === "daemon" ? 4 : 3);
    },
  );
}
