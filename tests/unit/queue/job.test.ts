import { describe, expect, test } from "vitest";
import {
  dueAtMs,
  isClaimable,
  isEnded,
  isRunning,
  isWaiting,
  JOB_STATES,
  rankOf,
  retryDelayMs,
  transition,
  type Job,
  type JobEvent,
  type JobState,
} from "../../../src/queue/index.ts";
import { firstJobs } from "../../../src/store/new-job.ts";
import { jobsOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const MINUTE = 60_000;
const ERROR = { kind: "error", message: "it broke", step: null } as const;

function jobOf(change: Partial<Job> = {}): Job {
  const [job] = firstJobs(submissionOf("S1"), jobsOf("S1", [{}]));
  if (job === undefined) throw new Error("no job");
  return { ...job, ...change };
}

/** A sound job in a state; `gone` is FAILED for good. */
function inState(state: JobState | "gone"): Job {
  const runs = { owner: "box", fence: 3, claimed_at_ms: T0 };
  switch (state) {
    case "CLAIMED":
      return jobOf({ state, ...runs });
    case "IN_PROGRESS":
      return jobOf({ state, ...runs, started_at_ms: T0 });
    case "FAILED":
      return jobOf({ state, fence: 3, attempt_count: 1, retry_after_ms: T0, failure: ERROR });
    case "gone":
      return jobOf({ state: "FAILED", fence: 3, attempt_count: 5, final: true, ended_at_ms: T0 });
    case "COMPLETE":
    case "CANCELLED":
      return jobOf({ state, fence: 3, ended_at_ms: T0 });
    default:
      return jobOf({ state: "PENDING", fence: 3 });
  }
}

const EVENTS = {
  claim: { kind: "claim", owner: "box" },
  start: { kind: "start", fence: 3 },
  complete: { kind: "complete", fence: 3, result: {} },
  fail: { kind: "fail", fence: 3, failure: ERROR },
  interrupt: { kind: "interrupt", fence: 3, reason: "shutdown" },
  adopt: { kind: "adopt", fence: 3, owner: "box-2" },
  owner_died: { kind: "owner_died", reason: "box is gone" },
  prerequisite_failed: { kind: "prerequisite_failed", reason: "waited" },
  cancel: { kind: "cancel" },
  retry: { kind: "retry" },
  hold: { kind: "hold" },
  release: { kind: "release" },
} satisfies Record<JobEvent["kind"], JobEvent>;

/** What each event makes of each state; what is not here is refused. */
const TABLE: Record<JobEvent["kind"], Partial<Record<JobState | "gone", JobState>>> = {
  claim: { PENDING: "CLAIMED", FAILED: "CLAIMED" },
  start: { CLAIMED: "IN_PROGRESS" },
  complete: { IN_PROGRESS: "COMPLETE" },
  fail: { IN_PROGRESS: "FAILED" },
  interrupt: { CLAIMED: "PENDING", IN_PROGRESS: "PENDING" },
  adopt: { CLAIMED: "CLAIMED", IN_PROGRESS: "IN_PROGRESS" },
  owner_died: { CLAIMED: "PENDING", IN_PROGRESS: "PENDING" },
  prerequisite_failed: {},
  cancel: {
    PENDING: "CANCELLED",
    CLAIMED: "CANCELLED",
    IN_PROGRESS: "CANCELLED",
    FAILED: "CANCELLED",
    gone: "CANCELLED",
    CANCELLED: "CANCELLED",
  },
  retry: { FAILED: "PENDING", gone: "PENDING" },
  hold: {
    PENDING: "PENDING",
    CLAIMED: "CLAIMED",
    IN_PROGRESS: "IN_PROGRESS",
    FAILED: "FAILED",
  },
  release: {
    PENDING: "PENDING",
    CLAIMED: "CLAIMED",
    IN_PROGRESS: "IN_PROGRESS",
    FAILED: "FAILED",
  },
};

const STATES = [...JOB_STATES, "gone"] as const;
const CASES = STATES.flatMap((state) =>
  Object.values(EVENTS).map((event) => [state, event.kind, event] as const),
);

function after(job: Job, event: JobEvent, now_ms = T0): Job {
  const result = transition(job, event, now_ms);
  if (!result.ok) throw new Error(result.reason);
  return result.job;
}

describe("what may become of a job", () => {
  test.each(CASES)("%s by %s", (state, kind, event) => {
    const result = transition(inState(state), event, T0 + 1);
    expect(result.ok ? result.job.state : undefined).toBe(TABLE[kind][state]);
    expect(result.ok ? undefined : result.code).toBe(
      TABLE[kind][state] === undefined ? "wrong_state" : undefined,
    );
    expect(result.ok ? "S1-0" : result.reason).toContain("S1-0");
  });

  test.each(STATES)("%s is exactly one of waiting, running and ended", (state) => {
    const job = inState(state);
    expect([isWaiting(job), isRunning(job), isEnded(job)].filter(Boolean)).toHaveLength(1);
  });

  test("nothing is changed in place, and what stays the same says so", () => {
    const job = Object.freeze(inState("PENDING"));
    expect(transition(job, EVENTS.release, T0 + 9)).toEqual({ ok: true, job, changed: false });
    expect(after(job, EVENTS.hold, T0 + 9)).toMatchObject({
      held_at_ms: T0 + 9,
      updated_at_ms: T0 + 9,
    });
    expect(job.held_at_ms).toBeNull();
  });

  test.each(["start", "complete", "fail", "interrupt", "adopt"] as const)(
    "%s needs the fence of the claim that runs",
    (kind) => {
      const job = inState(kind === "start" ? "CLAIMED" : "IN_PROGRESS");
      for (const fence of [2, 4]) {
        const event = { ...EVENTS[kind], fence } as JobEvent;
        expect(transition(job, event, T0)).toMatchObject({ ok: false, code: "stale_fence" });
      }
    },
  );

  test("the fence rises with each claim and whenever a job is taken away", () => {
    expect(after(inState("PENDING"), EVENTS.claim).fence).toBe(4);
    expect(after(inState("IN_PROGRESS"), EVENTS.owner_died).fence).toBe(4);
    expect(after(inState("IN_PROGRESS"), EVENTS.adopt)).toMatchObject({ fence: 4, owner: "box-2" });
    expect(after(inState("IN_PROGRESS"), EVENTS.interrupt).fence).toBe(3);
  });
});

describe("what keeps a job from being claimed", () => {
  test.each([
    ["a hold", { held_at_ms: T0 }],
    ["a job that it waits for", { waiting_on: 1 }],
    ["not_before", { not_before_ms: T0 + 1 }],
    ["retry_after", { state: "FAILED", retry_after_ms: T0 + 1 }],
  ] satisfies [string, Partial<Job>][])("%s", (_what, change) => {
    const job = jobOf(change);
    expect(transition(job, EVENTS.claim, T0)).toMatchObject({ ok: false, code: "wrong_state" });
  });

  test("the later of not_before and retry_after counts", () => {
    const job = jobOf({ state: "FAILED", not_before_ms: T0 + 5, retry_after_ms: T0 + 3 });
    expect(dueAtMs(job)).toBe(T0 + 5);
    expect(isClaimable(job)).toBe(true);
    expect(after(job, EVENTS.claim, T0 + 5)).toMatchObject({
      state: "CLAIMED",
      retry_after_ms: null,
    });
  });

  test("a waiting job fails with what it waited for", () => {
    const job = jobOf({ waiting_on: 1, fence: 3 });
    expect(after(job, EVENTS.prerequisite_failed)).toMatchObject({
      state: "FAILED",
      final: true,
      attempt_count: 0,
      failure: { kind: "prerequisite", message: "waited" },
    });
  });
});

/** Fails `kinds` one after the other, each as soon as it may run again. */
function failing(kinds: ("error" | "timeout" | "stalled" | "incurable")[], change = {}): Job[] {
  const seen: Job[] = [];
  let job = jobOf(change);
  for (const kind of kinds) {
    const now = Math.max(T0, dueAtMs(job));
    job = after(job, EVENTS.claim, now);
    job = after(job, { kind: "start", fence: job.fence }, now);
    job = after(job, { kind: "fail", fence: job.fence, failure: { ...ERROR, kind } }, now);
    seen.push(job);
  }
  return seen;
}

describe("failures", () => {
  test("five executions, each later and less urgent", () => {
    const jobs = failing(["error", "error", "error", "error", "error"]);
    expect(jobs.map(({ priority }) => priority)).toEqual([105, 115, 130, 150, 175]);
    expect(jobs.map(({ final }) => final)).toEqual([false, false, false, false, true]);
    const waits = jobs.map((job) =>
      job.retry_after_ms === null ? null : (job.retry_after_ms - job.updated_at_ms) / MINUTE,
    );
    expect(waits).toEqual([5, 10, 20, 40, null]);
    expect([1, 4, 5, 6, 1000].map((n) => retryDelayMs(n) / MINUTE)).toEqual([5, 40, 60, 60, 60]);
  });

  test.each([
    ["two time-outs", ["timeout", "timeout"]],
    ["a time-out and a silence", ["timeout", "error", "stalled"]],
    ["an error that no retry cures", ["incurable"]],
  ] as const)("%s end it", (_what, kinds) => {
    const jobs = failing([...kinds]);
    expect(jobs.map(({ final }) => final)).toEqual(kinds.map((_, at) => at === kinds.length - 1));
    expect(transition(jobs.at(-1) ?? jobOf(), EVENTS.claim, T0 * 2).ok).toBe(false);
  });

  test("max_attempts 1 is one execution", () => {
    expect(failing(["error"], { max_attempts: 1 })[0]).toMatchObject({ final: true });
  });

  test("a retry by hand starts anew", () => {
    const [, , gone] = failing(["timeout", "error", "timeout"]);
    expect(after(gone ?? jobOf(), EVENTS.retry, T0 + 1)).toMatchObject({
      state: "PENDING",
      priority: 100,
      attempt_count: 0,
      timeout_count: 0,
      retry_after_ms: null,
      ended_at_ms: null,
      final: false,
      failure: null,
    });
  });

  test("the third owner that a job takes with it is a failure, with a new count", () => {
    const job = { ...inState("IN_PROGRESS"), owner_deaths: 2 };
    expect(after(job, EVENTS.owner_died)).toMatchObject({
      state: "FAILED",
      attempt_count: 1,
      owner_deaths: 0,
      final: false,
      failure: { kind: "owner_died", message: expect.stringContaining("box is gone") },
    });
    expect(after({ ...job, owner_deaths: 1 }, EVENTS.owner_died)).toMatchObject({
      state: "PENDING",
      owner_deaths: 2,
      attempt_count: 0,
    });
    expect(after({ ...inState("CLAIMED"), owner_deaths: 2 }, EVENTS.owner_died)).toMatchObject({
      state: "PENDING",
      owner_deaths: 2,
    });
  });
});

describe("rank", () => {
  test("ten points of priority are worth one hour", () => {
    const old = { created_at_ms: T0, priority: 110 };
    expect(rankOf(old)).toBe(rankOf({ created_at_ms: T0 + 60 * MINUTE, priority: 100 }));
    expect(rankOf(old)).toBeGreaterThan(rankOf({ created_at_ms: T0 + 59 * MINUTE, priority: 100 }));
    expect(rankOf(old, 60)).toBe(T0 / 1000 + 110 * 60);
    expect(rankOf({ created_at_ms: 1999, priority: 0 })).toBe(1);
  });
});
