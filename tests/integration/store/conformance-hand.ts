import { expect } from "vitest";
import { QUEUE } from "../../../src/store/index.ts";
import { T0 } from "../../helpers/store-fixtures.ts";
import { CAN, ERROR, withJobs, claimed, started, stateOf, type Topic } from "./conformance-kit.ts";

export const BY_HAND: Topic = {
  async "cancel ends what waits or runs, once, and not what is done"(store) {
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
  },

  async "retry starts a failed job's counts anew"(store) {
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
  },

  async "a held job and a held queue give nothing until they are released"(store) {
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
  },

  async "a job that is held while it runs goes on, and waits if it is handed back"(store) {
    await withJobs(store, [{}]);
    const job = await started(store);
    expect(await store.hold(job.id, T0)).toMatchObject({ ok: true });
    await store.interrupt(job.id, job.fence, T0, "shutdown");
    expect(await store.claim("box", T0, CAN)).toBeUndefined();
    await store.release(job.id, T0);
    expect((await claimed(store)).id).toBe(job.id);
  },
};

export const ONE_AFTER_THE_OTHER: Topic = {
  async "a job waits for all that it names"(store) {
    await withJobs(store, [{ id: "c", after: ["a", "b"], priority: 1 }, { id: "a" }, { id: "b" }]);
    expect(await store.blocked(T0, CAN)).toMatchObject({ waiting_on_others: 1, ready: 2 });
    for (const id of ["S1-1", "S1-2"]) {
      const job = await started(store);
      expect(job.id).toBe(id);
      await store.complete(job.id, job.fence, T0, {});
    }
    expect((await claimed(store)).id).toBe("S1-0");
  },

  async "a chain fails when its first one ended otherwise"(store) {
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
  },

  async "a failure that will be retried fails nobody"(store) {
    await withJobs(store, [{ id: "a" }, { after: ["a"] }]);
    const job = await started(store);
    await store.fail(job.id, job.fence, T0, ERROR);
    expect(await store.failDependants(T0)).toEqual([]);
    expect(await stateOf(store, "S1-1")).toBe("PENDING");
  },

  async "retried in order: first what it waits for"(store) {
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
  },
};
