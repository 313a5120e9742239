import { isoTime } from "../../../../src/core/clock.ts";
import { silentLog } from "../../../../src/core/log.ts";
import type { IdleRequest } from "../../../../src/daemon/idle/decide.ts";
import { NO_HISTORY, type IdleHistory } from "../../../../src/daemon/idle/history.ts";
import { IdleWork } from "../../../../src/daemon/idle/idle-work.ts";
import type { ChildEnd } from "../../../../src/daemon/idle/protocol.ts";
import { toRenew } from "../../../../src/daemon/idle/renew.ts";
import { windowAt } from "../../../../src/daemon/idle/window.ts";
import { Loop, type LoopDeps } from "../../../../src/daemon/loop.ts";
import type { Job } from "../../../../src/queue/index.ts";
import { random } from "../../../helpers/seeded.ts";
import { NO_FILES } from "../quiet-loop.ts";
import { JumpClock } from "./jump-clock.ts";
import { WeeksChild } from "./weeks-child.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LIMITS = { max_age_days: 14, renew_before_days: 4 };
const NEVER = new Promise<never>(() => {});
const MODEL = "qwen3-8b";

interface SimJob {
  id: string;
  due_ms: number;
  length_ms: number;
  state: "waiting" | "running" | "ended";
  ends: number;
}

/** A life of the daemon's process. */
interface Life {
  alive: boolean;
  loop: Loop | null;
  hard: AbortController;
}

/** A machine, its daemon, scripts that ask for the number, and everything that may happen in weeks. */
export class Weeks {
  readonly clock = new JumpClock(Date.UTC(2026, 8, 7, 8, 0, 0));
  readonly diary: string[] = [];
  readonly jobs: SimJob[] = [];
  /** How long each request was open, and why it was made. */
  readonly answered: { reason: string; open_ms: number }[] = [];
  /** When a calibration was begun, monotonic. */
  readonly begun: number[] = [];
  readonly upgrades: number[] = [];
  /** How long a due job waited for a measurement to give way. */
  longest_wait_ms = 0;
  rounds = 0;
  happened = 0;
  #random: () => number;
  #life: Life | null = null;
  #request: (IdleRequest & { since_ms: number }) | null = null;
  #evidence: { version: number; at_ms: number } | null = null;
  #version = 1;
  #checkpoint: { version: number; steps: number } | null = null;
  #history: IdleHistory = NO_HISTORY;
  #child: WeeksChild | null = null;
  #outbox = 0;
  #busy_until_ms = 0;
  #held_until_ms = 0;

  constructor(seed: number) {
    this.#random = random(seed);
  }

  say(text: string): void {
    const day = new Date(this.clock.now_ms()).toUTCString().slice(0, 3);
    this.diary.push(`${isoTime(this.clock.now_ms()).slice(0, 16)} ${day}  ${text}`);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least));
  }

  // --- the daemon -------------------------------------------------------------------------------

  #start(): void {
    const life: Life = { alive: true, loop: null, hard: new AbortController() };
    this.#life = life;
    for (const job of this.jobs) if (job.state === "running") job.state = "waiting";
    life.loop = new Loop(this.#deps(life));
    this.say("the daemon starts");
    void life.loop.run(null);
  }

  /** The daemon and everything that it started is gone. */
  #die(): void {
    if (this.#life === null) return;
    this.#life.alive = false;
    this.#life = null;
    this.#child?.die();
    this.#child = null;
  }

  #deps(life: Life): LoopDeps {
    const { clock } = this;
    const own = {
      now_ms: () => clock.now_ms(),
      monotonic_ms: () => clock.monotonic_ms(),
      sleep: async (ms: number, signal?: AbortSignal) => {
        if (life.alive) await clock.sleep(ms, signal);
        if (!life.alive) await NEVER;
      },
    };
    const ignore = (): void => undefined;
    const say = (text: string): void => {
      if (life.alive) this.say(text);
    };
    const report = { say, warn: (text: string) => say(`warning: ${text}`), idle: ignore };
    const due = (): SimJob | undefined => this.#due();
    return {
      store: {
        failDependants: async () => [],
        submissions: async () => [],
        nextDue: async () => this.#nextDue(),
        claim: async () => {
          const job = due();
          if (job === undefined || this.#held()) return undefined;
          job.state = "running";
          return { id: job.id, entry: { model: { id: "m" } } } as unknown as Job;
        },
        job: async () => undefined,
      } as unknown as LoopDeps["store"],
      inbox: {
        pass: async () => {
          this.rounds += 1;
          return NO_FILES;
        },
        finishEnded: async () => ({ placed: [], troubles: [] }),
      },
      summaries: { sync: async () => undefined, ids: () => [] },
      idle: this.#idle(life, own, report),
      report: {
        ...report,
        state: ignore,
        inboxBlocked: ignore,
        fileStuck: ignore,
        window: ignore,
        jobStarts: (job) => say(`job ${job.id} begins`),
        jobEnds: (job) => say(`job ${job.id} ended`),
      },
      clock: own,
      log: silentLog(),
      owner_id: "box",
      runners: ["llama"],
      memory_mb: null,
      random: () => 1,
      uptime_ms: () => clock.uptime_ms(),
      refresh: async () => undefined,
      barred: () => null,
      opensAt: async () => null,
      pulse: undefined,
      takeLock: async () => ({ path: "", release: ignore }),
      reap: async () => undefined,
      grown: () => false,
      jobRun: ({ id }) => ({
        look: async () => undefined,
        run: async (lock) => {
          const job = this.jobs.find((one) => one.id === id);
          if (job === undefined || this.#child !== null)
            throw new Error("a job beside a measurement");
          await own.sleep(job.length_ms);
          job.state = "ended";
          job.ends += 1;
          lock.release();
        },
      }),
    };
  }

  #idle(
    life: Life,
    clock: LoopDeps["clock"],
    report: ConstructorParameters<typeof IdleWork>[0]["report"],
  ): IdleWork {
    return new IdleWork({
      clock,
      report,
      hard: life.hard.signal,
      history: { load: () => this.#history, save: (history) => void (this.#history = history) },
      settings: () => ({
        policy: {
          by_itself: true,
          window: "* 20-23,0-7 * * *",
          max_load: 0.3,
          max_pressure: 0.05,
          power: "ac",
        },
        runners: ["llama"],
        configuration: "",
        commits: true,
      }),
      requests: () => (this.#request === null ? [] : [this.#request]),
      evidence: () => ({ outbox: this.#outbox, any: this.#evidence !== null }),
      device: async () => ({ load: this.#busy() ? 0.9 : 0.1, pressure: null, power: "ac" }),
      window: windowAt,
      hindrance: () => (this.#held() ? "the queue is held (touchstoned queue release)" : null),
      start: async () => (_, hooks) => {
        this.begun.push(this.clock.monotonic_ms());
        const child = new WeeksChild(this, clock, hooks);
        this.#child = child;
        const from = this.#steps();
        void child.run(from, { keep: (steps) => this.#kept(steps), done: () => this.#measured() });
        return child;
      },
      housekeep: async () => this.#housekeep(),
      endOrphan: async () => undefined,
    });
  }

  // --- what is measured -------------------------------------------------------------------------

  /** What an earlier calibration left; a runner of another version begins anew. */
  #steps(): number {
    if (this.#checkpoint?.version !== this.#version) this.#checkpoint = null;
    return this.#checkpoint?.steps ?? 0;
  }

  #kept(steps: number): void {
    this.#checkpoint = { version: this.#version, steps };
  }

  #measured(): ChildEnd {
    const request = this.#request;
    const now_ms = this.clock.now_ms();
    if (request !== null) {
      this.answered.push({
        reason: request.reason,
        open_ms: this.clock.uptime_ms() - request.since_ms,
      });
    }
    this.#request = null;
    this.#checkpoint = null;
    this.#evidence = { version: this.#version, at_ms: now_ms };
    // git is busy now and then.
    if (this.chance(0.3)) this.#outbox += 1;
    const commit_waits = this.#outbox > 0 ? "a merge is under way" : null;
    return { event: "measured", recommended: 2, max_safe: 3, commit_waits };
  }

  childGone(): void {
    this.#child = null;
  }

  #ask(reason: string): void {
    if (this.#request !== null) return;
    const asked_ms = this.clock.now_ms();
    const since_ms = this.clock.uptime_ms();
    this.#request = { key: MODEL, runner: "llama", model: MODEL, reason, asked_ms, since_ms };
    this.say(`asked for: ${reason}`);
  }

  #measuredHere() {
    const { at_ms } = this.#evidence ?? { at_ms: 0 };
    return { runner_kind: "llama-server", model: MODEL, oldest_ms: at_ms, created_ms: at_ms };
  }

  #housekeep() {
    if (this.#outbox > 0 && this.chance(0.5)) this.#outbox = 0;
    const now_ms = this.clock.now_ms();
    const asked = { runner: "llama", kind: "llama-server", model: MODEL };
    const due = toRenew([this.#measuredHere()], [asked], { ...LIMITS, now_ms });
    const news = due.length > 0 && this.#request === null;
    if (news) this.#ask("its evidence will be stale in a few days");
    return {
      committed: 0,
      waiting: this.#outbox,
      reason: this.#outbox > 0 ? "a merge is under way" : null,
      asked: [],
      pruned: 0,
    };
  }

  // --- what happens -----------------------------------------------------------------------------

  #due(): SimJob | undefined {
    const now_ms = this.clock.now_ms();
    return this.jobs.find((job) => job.state === "waiting" && job.due_ms <= now_ms);
  }

  #nextDue(): number | null {
    if (this.#held()) return null;
    const waiting = this.jobs.filter((job) => job.state === "waiting").map((job) => job.due_ms);
    return waiting.length === 0 ? null : Math.min(...waiting);
  }

  #busy(): boolean {
    return this.clock.uptime_ms() < this.#busy_until_ms;
  }

  #held(): boolean {
    return this.clock.uptime_ms() < this.#held_until_ms;
  }

  #drop(): void {
    const id = `J${this.jobs.length + 1}`;
    const due_ms = this.clock.now_ms() + (this.chance(0.3) ? this.between(0, 6) * HOUR_MS : 0);
    const length_ms = this.between(10, 180) * MINUTE_MS;
    this.jobs.push({ id, due_ms, length_ms, state: "waiting", ends: 0 });
    this.say(`dropped: ${id}`);
    this.#life?.loop?.wake("inbox");
  }

  /** A script asks for the number, and leaves a request where there is none. */
  #askAllowed(): void {
    const evidence = this.#evidence;
    if (evidence === null) return this.#ask("never measured here");
    if (evidence.version !== this.#version) {
      return this.#ask(`the runner was v${evidence.version} and is v${this.#version}`);
    }
    const age_days = (this.clock.now_ms() - evidence.at_ms) / DAY_MS;
    if (age_days > LIMITS.max_age_days) return this.#ask("its evidence is stale");
    return undefined;
  }

  #happen(): void {
    this.happened += 1;
    this.#askAllowed();
    if (this.chance(0.12)) this.#drop();
    if (this.chance(0.003)) {
      this.#version += 1;
      this.upgrades.push(this.#version);
      this.say(`the runner is upgraded to v${this.#version}`);
    }
    if (this.chance(0.04)) this.clock.suspend(this.between(1, 9) * HOUR_MS);
    if (this.chance(0.01)) this.clock.stepWall(HOUR_MS);
    if (this.chance(0.01)) this.clock.stepWall(-HOUR_MS);
    if (this.chance(0.1)) {
      this.#busy_until_ms = this.clock.uptime_ms() + this.between(1, 5) * HOUR_MS;
    }
    if (this.chance(0.01)) {
      this.#held_until_ms = this.clock.uptime_ms() + this.between(2, 20) * HOUR_MS;
      this.say("a person holds the queue for some hours");
    }
    if (this.chance(0.02)) {
      this.#die();
      this.say("the machine reboots");
    }
  }

  async #settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Everything that was asked for is answered and every job has ended. */
  get rests(): boolean {
    return this.#request === null && this.jobs.every((job) => job.state === "ended");
  }

  /** Lets `ms` pass; something may happen each hour. */
  async #pass(ms: number, happens: boolean): Promise<void> {
    const end_ms = this.clock.uptime_ms() + ms;
    let next_ms = this.clock.uptime_ms() + HOUR_MS;
    const ticks = async (): Promise<void> => {
      while (this.clock.uptime_ms() < end_ms) await this.clock.sleep(5 * MINUTE_MS);
    };
    void ticks();
    while (this.clock.uptime_ms() < end_ms) {
      if (this.#life === null) this.#start();
      await this.#settle();
      this.clock.jump();
      await this.#settle();
      this.#watch();
      if (this.clock.uptime_ms() < next_ms) continue;
      next_ms = this.clock.uptime_ms() + HOUR_MS;
      if (happens) this.#happen();
    }
  }

  #watch(): void {
    const due = this.#due();
    const child = this.#child;
    if (due === undefined || child === null || !child.asked) return;
    this.longest_wait_ms = Math.max(
      this.longest_wait_ms,
      this.clock.monotonic_ms() - child.asked_ms,
    );
  }

  async live(weeks: number): Promise<void> {
    await this.#pass(weeks * 7 * DAY_MS, true);
    // Nothing new comes; what is open has its time.
    for (let days = 0; days < 7 && !this.rests; days += 1) await this.#pass(DAY_MS, false);
  }
}
