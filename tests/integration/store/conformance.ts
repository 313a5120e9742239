import { describe, expect, test } from "vitest";
import type { Job } from "../../../src/queue/index.ts";
import { OWNER_SILENCE_MS, QUEUE, type Store } from "../../../src/store/index.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const CAN = { runners: ["local"] };
const MINUTE = 60_000;
const ERROR = { kind: "error", message: "it broke", step: "eval" } as const;

/** Takes up one file and registers the owner `box`. */
async function withJobs(store: Store, entries: Parameters<typeof jobsOf>[1]): Promise<void> {
  await store.accept(submissionOf("S1"), jobsOf("S1", entries));
  await store.register(ownerOf("box"), T0);
}

async function claimed(store: Store, now_ms = T0): Promise<Job> {
  const job = await store.claim("box", now_ms, CAN);
  if (job === undefined) throw new Error("nothing was claimed");
  return job;
}

async function started(store: Store, now_ms = T0): Promise<Job> {
  const job = await claimed(store, now_ms);
  const outcome = await store.start(job.id, job.fence, now_ms);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.job;
}

async function stateOf(store: Store, id: string): Promise<string | undefined> {
  return (await store.job(id))?.state;
}

/** What every store does, whatever it is made of. `open` gives an empty one. */
export function storeConformance(name: string, open: () => Promise<Store>): void {
  /** One test on an empty store, which must be sound afterwards. */
  const on = (what: string, body: (store: Store) => Promise<void>) =>
    test(what, async () => {
      const store = await open();
      try {
        await body(store);
        expect(await store.check()).toEqual([]);
      } finally {
        await store.close();
      }
    });

  describe(`${name}: taking up`, () => {
    on("keeps what was given", async (store) => {
      const given = submissionOf("S1");
      const report = await store.accept(given, jobsOf("S1", [{ not_before: null }, {}]));
      expect(report).toEqual({ outcome: "accepted", submission_id: "S1" });
      expect(await store.submission("S1")).toMatchObject({
        ...given,
        total_jobs: 2,
        open_jobs: 2,
        ended_at_ms: null,
        placed_at_ms: null,
      });
      const [first, second] = await store.jobsOf("S1");
      expect(first).toMatchObject({
        id: "S1-0",
        state: "PENDING",
        fence: 0,
        priority: 100,
        created_at_ms: T0,
        source_sha256: given.sha256,
        bundle_dir: "/runs/S1/0",
        entry: jobsOf("S1", [{}])[0]?.entry,
      });
      expect(second?.index).toBe(1);
      expect((await store.history("S1-0")).map(({ kind, to }) => [kind, to])).toEqual([
        ["accept", "PENDING"],
      ]);
    });

    on("the same taking-up again changes nothing", async (store) => {
      await withJobs(store, [{}]);
      const report = await store.accept(submissionOf("S1"), jobsOf("S1", [{}]));
      expect(report).toEqual({ outcome: "already", submission_id: "S1" });
      expect(await store.jobs()).toHaveLength(1);
    });

    on("the same bytes are refused while they are open and new work afterwards", async (store) => {
      await withJobs(store, [{}]);
      const again = submissionOf("S2", { sha256: submissionOf("S1").sha256 });
      const refused = await store.accept(again, jobsOf("S2", [{}]));
      expect(refused).toEqual({ outcome: "duplicate", submission_id: "S1" });
      expect(await store.submission("S2")).toBeUndefined();
      const job = await started(store);
      await store.complete(job.id, job.fence, T0, {});
      expect((await store.accept(again, jobsOf("S2", [{}]))).outcome).toBe("accepted");
    });

    on("an id is never used twice, and the whole file is refused with it", async (store) => {
      await withJobs(store, [{}]);
      const [used] = jobsOf("S1", [{}]);
      const [fresh] = jobsOf("S2", [{}]);
      if (used === undefined || fresh === undefined) throw new Error("no jobs");
      const second = { ...used, index: 1 };
      await expect(store.accept(submissionOf("S2"), [fresh, second])).rejects.toMatchObject({
        code: "id_reused",
      });
      await expect(
        store.accept(submissionOf("S2"), [fresh, { ...fresh, index: 1 }]),
      ).rejects.toMatchObject({ code: "id_reused" });
      await expect(
        store.accept(submissionOf("S1", { sha256: "other" }), [fresh]),
      ).rejects.toMatchObject({ code: "id_reused" });
      expect(await store.jobs()).toHaveLength(1);
      expect(await store.submissions()).toHaveLength(1);
    });

    on("what a rebuild found done starts out COMPLETE and frees what waits", async (store) => {
      const [done, next] = jobsOf("S1", [{ id: "a" }, { after: ["a"] }]);
      if (done === undefined || next === undefined) throw new Error("no jobs");
      const restored = { result: { cells_ok: 3 }, ended_at_ms: T0 - 5 };
      await store.accept(submissionOf("S1"), [{ ...done, restored }, next]);
      await store.register(ownerOf("box"), T0);
      expect(await store.job("S1-0")).toMatchObject({ state: "COMPLETE", result: { cells_ok: 3 } });
      expect(await store.submission("S1")).toMatchObject({ open_jobs: 1 });
      expect((await claimed(store)).id).toBe("S1-1");
      const whole = jobsOf("S2", [{}]).map((job) => Object.assign(job, { restored }));
      await store.accept(submissionOf("S2"), whole);
      expect(await store.submission("S2")).toMatchObject({ open_jobs: 0, ended_at_ms: T0 - 5 });
    });

    on("ended submissions wait to be placed", async (store) => {
      await withJobs(store, [{}]);
      expect(await store.submissions({ open: true, placed: false })).toHaveLength(1);
      const job = await started(store);
      await store.complete(job.id, job.fence, T0 + 5, {});
      expect(await store.submissions({ open: true })).toEqual([]);
      const [ended] = await store.submissions({ open: false, placed: false });
      expect(ended).toMatchObject({ id: "S1", ended_at_ms: T0 + 5 });
      expect(await store.place("S1", "/inbox/done/S1.yaml", T0 + 9)).toBe(true);
      expect(await store.place("S9", "/inbox/done/S9.yaml", T0 + 9)).toBe(false);
      expect(await store.submissions({ placed: false })).toEqual([]);
      expect(await store.submissions({ sha256: submissionOf("S1").sha256 })).toMatchObject([
        { placed_path: "/inbox/done/S1.yaml", placed_at_ms: T0 + 9 },
      ]);
    });
  });

  describe(`${name}: claiming`, () => {
    on("takes by priority, then age, then id", async (store) => {
      await withJobs(store, [{ priority: 101 }, { priority: 100 }, { priority: 100 }]);
      const order = [await claimed(store), await claimed(store), await claimed(store)];
      expect(order.map(({ id }) => id)).toEqual(["S1-1", "S1-2", "S1-0"]);
      expect(await store.claim("box", T0, CAN)).toBeUndefined();
    });

    on("an old job goes before newer ones of better priority", async (store) => {
      await withJobs(store, [{ priority: 110 }]);
      const later = submissionOf("S2", { accepted_at_ms: T0 + 61 * MINUTE });
      await store.accept(later, jobsOf("S2", [{}]));
      const sooner = submissionOf("S3", { accepted_at_ms: T0 + 59 * MINUTE });
      await store.accept(sooner, jobsOf("S3", [{}]));
      const now = T0 + 70 * MINUTE;
      const order = [
        await claimed(store, now),
        await claimed(store, now),
        await claimed(store, now),
      ];
      expect(order.map(({ id }) => id)).toEqual(["S3-0", "S1-0", "S2-0"]);
    });

    on("lists in the order of claims", async (store) => {
      await withJobs(store, [{ priority: 102 }, { priority: 101 }]);
      const ids = (jobs: Job[]) => jobs.map(({ id }) => id);
      expect(ids(await store.jobs({ order: "rank" }))).toEqual(["S1-1", "S1-0"]);
      expect(ids(await store.jobs({ limit: 1 }))).toEqual(["S1-0"]);
      const { id } = await claimed(store);
      expect(ids(await store.jobs({ owner: "box", states: ["CLAIMED"] }))).toEqual([id]);
      expect(ids(await store.jobs({ states: ["COMPLETE"] }))).toEqual([]);
    });

    on("only for runners that this machine has", async (store) => {
      await withJobs(store, [{ runner: "elsewhere" }]);
      expect(await store.claim("box", T0, CAN)).toBeUndefined();
      expect(await store.claim("box", T0, { runners: [] })).toBeUndefined();
      expect(await store.nextDue(T0, CAN)).toBeNull();
      expect(await store.blocked(T0, CAN)).toMatchObject({ other_runner: 1, ready: 0 });
      const both = { runners: ["local", "elsewhere"] };
      expect(await store.nextDue(T0, both)).toBe(T0);
      expect((await store.claim("box", T0, both))?.id).toBe("S1-0");
    });

    on("not before not_before, also where the clock is set back", async (store) => {
      const due = T0 + 10 * MINUTE;
      await withJobs(store, [{ not_before: new Date(due).toISOString() }]);
      expect(await store.claim("box", due - 1, CAN)).toBeUndefined();
      expect(await store.nextDue(T0, CAN)).toBe(due);
      expect(await store.blocked(T0, CAN)).toMatchObject({ not_due: 1, next_due_ms: due });
      expect(await store.nextDue(due + 5, CAN)).toBe(due + 5);
      await store.hold(QUEUE, due);
      expect(await store.claim("box", due, CAN)).toBeUndefined();
      await store.release(QUEUE, due);
      // It was seen due once; now the clock says otherwise.
      expect(await store.claim("box", due - 1, CAN)).toBeUndefined();
      expect(await store.nextDue(due - 1, CAN)).toBe(due);
      expect((await store.claim("box", due, CAN))?.id).toBe("S1-0");
    });

    on("raises the fence and says who and when", async (store) => {
      await withJobs(store, [{}]);
      expect(await claimed(store, T0 + 3)).toMatchObject({
        state: "CLAIMED",
        owner: "box",
        fence: 1,
        claimed_at_ms: T0 + 3,
      });
      expect(await store.counts()).toMatchObject({ PENDING: 0, CLAIMED: 1 });
      expect(await store.blocked(T0, CAN)).toMatchObject({ running: 1, ready: 0 });
    });

    on("nobody claims who is not registered", async (store) => {
      await store.accept(submissionOf("S1"), jobsOf("S1", [{}]));
      await expect(store.claim("box", T0, CAN)).rejects.toMatchObject({ code: "owner_unknown" });
    });
  });

  describe(`${name}: running`, () => {
    on("start, steps, complete", async (store) => {
      await withJobs(store, [{}]);
      const job = await started(store, T0 + 1);
      const step = { step: "eval", status: "ok", record: { seconds: 1.5 } };
      expect(await store.step(job.id, job.fence, T0 + 2, step)).toMatchObject({ ok: true });
      const outcome = await store.complete(job.id, job.fence, T0 + 3, { cells_ok: 4 });
      expect(outcome).toMatchObject({
        ok: true,
        job: { state: "COMPLETE", ended_at_ms: T0 + 3, result: { cells_ok: 4 }, owner: null },
      });
      expect(await store.steps(job.id)).toEqual([{ ...step, fence: 1, at_ms: T0 + 2 }]);
      expect(await store.job(job.id)).toEqual(outcome.ok ? outcome.job : null);
      expect(await store.submission("S1")).toMatchObject({ open_jobs: 0, ended_at_ms: T0 + 3 });
    });

    on("an old fence writes nothing", async (store) => {
      await withJobs(store, [{}]);
      const first = await started(store);
      await store.interrupt(first.id, first.fence, T0, "shutdown");
      const second = await started(store);
      expect(second.fence).toBe(2);
      const step = { step: "eval", status: "ok", record: null };
      const late = [
        await store.step(first.id, 1, T0, step),
        await store.complete(first.id, 1, T0, {}),
        await store.fail(first.id, 1, T0, ERROR),
        await store.interrupt(first.id, 1, T0, "late"),
        await store.start(first.id, 1, T0),
      ];
      for (const outcome of late) expect(outcome).toMatchObject({ ok: false, code: "stale_fence" });
      expect(await store.job(first.id)).toEqual(second);
      expect(await store.steps(first.id)).toEqual([]);
    });

    on("what does not run takes no result, and what is not there takes nothing", async (store) => {
      await withJobs(store, [{}]);
      expect(await store.complete("S1-0", 0, T0, {})).toMatchObject({ code: "wrong_state" });
      const job = await claimed(store);
      expect(await store.complete(job.id, 1, T0, {})).toMatchObject({ code: "wrong_state" });
      expect(await store.cancel("S9-9", T0)).toMatchObject({ code: "not_found" });
      expect(await store.hold("S9-9", T0)).toMatchObject({ code: "not_found" });
      expect(await store.job("S9-9")).toBeUndefined();
      expect(await store.history("S9-9")).toEqual([]);
    });

    on("a failure stays FAILED until its time, then is claimed again", async (store) => {
      await withJobs(store, [{}]);
      const job = await started(store);
      const outcome = await store.fail(job.id, job.fence, T0, ERROR);
      const retry_after_ms = T0 + 5 * MINUTE;
      expect(outcome).toMatchObject({
        ok: true,
        job: { state: "FAILED", attempt_count: 1, priority: 105, retry_after_ms, final: false },
      });
      expect(await store.claim("box", retry_after_ms - 1, CAN)).toBeUndefined();
      expect(await store.nextDue(T0, CAN)).toBe(retry_after_ms);
      expect(await store.submission("S1")).toMatchObject({ open_jobs: 1 });
      const again = await claimed(store, retry_after_ms);
      expect(again).toMatchObject({ id: job.id, fence: 2, retry_after_ms: null, failure: ERROR });
      const changes = (await store.history(job.id)).map(({ from, to }) => `${from}>${to}`);
      expect(changes.slice(-2)).toEqual(["IN_PROGRESS>FAILED", "FAILED>CLAIMED"]);
    });

    on("the last attempt ends it, and an incurable error does at once", async (store) => {
      await withJobs(store, [{ max_attempts: 1 }, {}]);
      const first = await started(store);
      await store.fail(first.id, first.fence, T0, ERROR);
      const second = await started(store);
      await store.fail(second.id, second.fence, T0, { ...ERROR, kind: "incurable" });
      for (const id of [first.id, second.id]) {
        expect(await store.job(id)).toMatchObject({
          state: "FAILED",
          final: true,
          retry_after_ms: null,
          ended_at_ms: T0,
        });
      }
      expect(await store.nextDue(T0 + 1e9, CAN)).toBeNull();
      expect(await store.submission("S1")).toMatchObject({ open_jobs: 0, ended_at_ms: T0 });
    });

    on("an interruption is no attempt", async (store) => {
      await withJobs(store, [{}]);
      const job = await started(store);
      expect(await store.interrupt(job.id, job.fence, T0, "shutdown")).toMatchObject({
        ok: true,
        job: { state: "PENDING", attempt_count: 0, priority: 100, owner: null },
      });
      expect((await store.history(job.id)).at(-1)).toMatchObject({
        kind: "interrupt",
        reason: "shutdown",
        owner: "box",
      });
      expect((await claimed(store)).fence).toBe(2);
    });
  });

  describe(`${name}: by hand`, () => {
    on("cancel ends what waits or runs, once, and not what is done", async (store) => {
      await withJobs(store, [{}, {}]);
      const job = await started(store);
      expect(await store.cancel(job.id, T0 + 1)).toMatchObject({ job: { state: "CANCELLED" } });
      expect(await store.complete(job.id, job.fence, T0 + 2, {})).toMatchObject({ ok: false });
      expect(await store.cancel(job.id, T0 + 3)).toMatchObject({ ok: true });
      expect((await store.job(job.id))?.ended_at_ms).toBe(T0 + 1);
      const done = await started(store);
      await store.complete(done.id, done.fence, T0, {});
      expect(await store.cancel(done.id, T0)).toMatchObject({ ok: false, code: "wrong_state" });
      expect(await store.deregister("box")).toEqual({ ok: true });
    });

    on("retry starts a failed job's counts anew", async (store) => {
      await withJobs(store, [{ max_attempts: 1 }]);
      const job = await started(store);
      await store.fail(job.id, job.fence, T0, ERROR);
      expect(await store.retry(job.id, T0 + 1)).toMatchObject({
        ok: true,
        job: { state: "PENDING", attempt_count: 0, priority: 100, final: false, failure: null },
      });
      expect(await store.submission("S1")).toMatchObject({ open_jobs: 1, ended_at_ms: null });
      expect(await store.retry(job.id, T0 + 1)).toMatchObject({ ok: false, code: "wrong_state" });
      expect((await claimed(store, T0 + 1)).fence).toBe(2);
    });

    on("a held job and a held queue give nothing until they are released", async (store) => {
      await withJobs(store, [{}]);
      await store.hold("S1-0", T0);
      expect(await store.claim("box", T0, CAN)).toBeUndefined();
      expect(await store.nextDue(T0, CAN)).toBeNull();
      expect(await store.blocked(T0, CAN)).toMatchObject({ held: 1, ready: 0 });
      await store.release("S1-0", T0);
      await store.hold(QUEUE, T0 + 1);
      await store.hold(QUEUE, T0 + 2);
      expect(await store.claim("box", T0, CAN)).toBeUndefined();
      expect(await store.nextDue(T0, CAN)).toBeNull();
      expect(await store.blocked(T0, CAN)).toMatchObject({ queue_held_at_ms: T0 + 1, ready: 1 });
      await store.release(QUEUE, T0);
      expect((await claimed(store)).id).toBe("S1-0");
    });

    on(
      "a job that is held while it runs goes on, and waits if it is handed back",
      async (store) => {
        await withJobs(store, [{}]);
        const job = await started(store);
        expect(await store.hold(job.id, T0)).toMatchObject({ ok: true });
        await store.interrupt(job.id, job.fence, T0, "shutdown");
        expect(await store.claim("box", T0, CAN)).toBeUndefined();
        await store.release(job.id, T0);
        expect((await claimed(store)).id).toBe(job.id);
      },
    );
  });

  describe(`${name}: one after the other`, () => {
    on("a job waits for all that it names", async (store) => {
      await withJobs(store, [
        { id: "c", after: ["a", "b"], priority: 1 },
        { id: "a" },
        { id: "b" },
      ]);
      expect(await store.blocked(T0, CAN)).toMatchObject({ waiting_on_others: 1, ready: 2 });
      for (const id of ["S1-1", "S1-2"]) {
        const job = await started(store);
        expect(job.id).toBe(id);
        await store.complete(job.id, job.fence, T0, {});
      }
      expect((await claimed(store)).id).toBe("S1-0");
    });

    on("a chain fails when its first one ended otherwise", async (store) => {
      await withJobs(store, [
        { id: "a" },
        { id: "b", after: ["a"] },
        { id: "c", after: ["b"] },
        { id: "d" },
      ]);
      expect(await store.failDependants(T0)).toEqual([]);
      await store.cancel("S1-0", T0);
      expect((await store.failDependants(T0 + 1)).sort()).toEqual(["S1-1", "S1-2"]);
      expect(await store.job("S1-2")).toMatchObject({
        state: "FAILED",
        final: true,
        attempt_count: 0,
        failure: { kind: "prerequisite" },
      });
      expect((await store.job("S1-1"))?.failure?.message).toMatch(/S1-0.* ended CANCELLED/);
      expect(await stateOf(store, "S1-3")).toBe("PENDING");
      expect(await store.failDependants(T0 + 2)).toEqual([]);
    });

    on("a failure that will be retried fails nobody", async (store) => {
      await withJobs(store, [{ id: "a" }, { after: ["a"] }]);
      const job = await started(store);
      await store.fail(job.id, job.fence, T0, ERROR);
      expect(await store.failDependants(T0)).toEqual([]);
      expect(await stateOf(store, "S1-1")).toBe("PENDING");
    });

    on("retried in order: first what it waits for", async (store) => {
      await withJobs(store, [{ id: "a", max_attempts: 1 }, { after: ["a"] }]);
      const job = await started(store);
      await store.fail(job.id, job.fence, T0, ERROR);
      await store.failDependants(T0);
      expect(await store.retry("S1-1", T0)).toMatchObject({ code: "prerequisite_ended" });
      await store.retry("S1-0", T0);
      expect(await store.retry("S1-1", T0)).toMatchObject({ ok: true });
      expect(await store.failDependants(T0)).toEqual([]);
      const again = await started(store);
      await store.complete(again.id, again.fence, T0, {});
      expect((await claimed(store)).id).toBe("S1-1");
    });
  });

  describe(`${name}: owners`, () => {
    on("register, beat, deregister", async (store) => {
      expect(await store.beat("box", T0)).toMatchObject({ code: "owner_unknown" });
      expect(await store.register(ownerOf("box"), T0)).toEqual({ ok: true });
      expect(await store.register(ownerOf("box"), T0 + 1)).toEqual({ ok: true });
      expect(await store.register(ownerOf("box", { pid: 5 }), T0)).toMatchObject({
        code: "owner_taken",
      });
      expect(await store.beat("box", T0 + 7)).toEqual({ ok: true });
      expect(await store.owners()).toMatchObject([
        { ...ownerOf("box"), registered_at_ms: T0, beat_at_ms: T0 + 7 },
      ]);
      expect(await store.deregister("box")).toEqual({ ok: true });
      expect(await store.deregister("box")).toMatchObject({ code: "owner_unknown" });
    });

    on("an owner with a job cannot leave", async (store) => {
      await withJobs(store, [{}]);
      const job = await claimed(store);
      expect(await store.deregister("box")).toMatchObject({ code: "owner_busy" });
      await store.interrupt(job.id, job.fence, T0, "shutdown");
      expect(await store.deregister("box")).toEqual({ ok: true });
    });

    on("the dead give their jobs back under a new fence", async (store) => {
      await withJobs(store, [{}, {}]);
      const running = await started(store);
      const waiting = await claimed(store);
      const report = await store.reap(T0 + 1, () => "dead");
      expect(report).toEqual({
        owners: ["box"],
        interrupted: [running.id, waiting.id],
        failed: [],
      });
      expect(await store.job(running.id)).toMatchObject({
        state: "PENDING",
        fence: 2,
        owner_deaths: 1,
        attempt_count: 0,
      });
      // It had not started: whatever ended its owner, it was not this job.
      expect(await store.job(waiting.id)).toMatchObject({ state: "PENDING", owner_deaths: 0 });
      expect(await store.complete(running.id, running.fence, T0, {})).toMatchObject({ ok: false });
      expect(await store.owners()).toEqual([]);
    });

    on("silence is death only where nobody can look", async (store) => {
      await withJobs(store, [{}]);
      await claimed(store);
      const silent = T0 + OWNER_SILENCE_MS + 1;
      const nothing = { owners: [], interrupted: [], failed: [] };
      expect(await store.reap(silent, () => "alive")).toEqual(nothing);
      expect(await store.reap(silent - 1, () => "unknown")).toEqual(nothing);
      // A clock that was set back makes nobody old.
      expect(await store.reap(T0 - 1e9, () => "unknown")).toEqual(nothing);
      expect((await store.reap(silent, () => "unknown")).interrupted).toEqual(["S1-0"]);
      expect(await store.beat("box", silent)).toMatchObject({ code: "owner_unknown" });
    });

    on("the third owner that dies of a job is its failure", async (store) => {
      await withJobs(store, [{}]);
      for (const death of [1, 2, 3]) {
        await started(store);
        const report = await store.reap(T0, () => "dead");
        expect(report.failed).toEqual(death === 3 ? ["S1-0"] : []);
        const counted = death === 3 ? 0 : death;
        expect(await store.job("S1-0")).toMatchObject({ owner_deaths: counted });
        await store.register(ownerOf("box", { pid: death }), T0);
      }
      expect(await store.job("S1-0")).toMatchObject({
        state: "FAILED",
        attempt_count: 1,
        owner_deaths: 0,
        failure: { kind: "owner_died" },
        retry_after_ms: T0 + 5 * MINUTE,
      });
    });

    on("what still runs can be adopted by the next owner", async (store) => {
      await withJobs(store, [{}]);
      const job = await started(store);
      await expect(store.adopt(job.id, job.fence, "box-2", T0)).rejects.toMatchObject({
        code: "owner_unknown",
      });
      await store.register(ownerOf("box-2", { pid: 9 }), T0);
      const adopted = await store.adopt(job.id, job.fence, "box-2", T0);
      expect(adopted).toMatchObject({
        ok: true,
        job: { state: "IN_PROGRESS", owner: "box-2", fence: job.fence + 1, owner_deaths: 0 },
      });
      expect(await store.complete(job.id, job.fence, T0, {})).toMatchObject({ ok: false });
      expect(await store.complete(job.id, job.fence + 1, T0, {})).toMatchObject({ ok: true });
    });
  });
}
