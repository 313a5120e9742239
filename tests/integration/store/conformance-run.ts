import { expect } from "vitest";
import { T0 } from "../../helpers/store-fixtures.ts";
import { CAN, MINUTE, ERROR, withJobs, claimed, started, type Topic } from "./conformance-kit.ts";

export const RUNNING: Topic = {
  async "start, steps, complete"(store) {
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
  },

  async "an old fence writes nothing"(store) {
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
  },

  async "what does not run takes no result, and what is not there takes nothing"(store) {
    await withJobs(store, [{}]);
    expect(await store.complete("S1-0", 0, T0, {})).toMatchObject({ code: "wrong_state" });
    const job = await claimed(store);
    expect(await store.complete(job.id, 1, T0, {})).toMatchObject({ code: "wrong_state" });
    expect(await store.cancel("S9-9", T0)).toMatchObject({ code: "not_found" });
    expect(await store.hold("S9-9", T0)).toMatchObject({ code: "not_found" });
    expect(await store.job("S9-9")).toBeUndefined();
    expect(await store.history("S9-9")).toEqual([]);
  },

  async "a failure stays FAILED until its time, then is claimed again"(store) {
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
  },

  async "the last attempt ends it, and an incurable error does at once"(store) {
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
  },

  async "an interruption is no attempt"(store) {
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
  },
};
