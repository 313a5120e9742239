import { expect } from "vitest";
import type { Job } from "../../../src/queue/index.ts";
import { QUEUE } from "../../../src/store/index.ts";
import { jobsOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { CAN, MINUTE, withJobs, claimed, type Topic } from "./conformance-kit.ts";

function ids(jobs: Job[]): string[] {
  return jobs.map(({ id }) => id);
}

export const CLAIMING: Topic = {
  async "takes by priority, then age, then id"(store) {
    await withJobs(store, [{ priority: 101 }, { priority: 100 }, { priority: 100 }]);
    const order = [await claimed(store), await claimed(store), await claimed(store)];
    expect(order.map(({ id }) => id)).toEqual(["S1-1", "S1-2", "S1-0"]);
    expect(await store.claim("box", T0, CAN)).toBeUndefined();
  },

  async "an old job goes before newer ones of better priority"(store) {
    await withJobs(store, [{ priority: 110 }]);
    const later = submissionOf("S2", { accepted_at_ms: T0 + 61 * MINUTE });
    await store.accept(later, jobsOf("S2", [{}]));
    const sooner = submissionOf("S3", { accepted_at_ms: T0 + 59 * MINUTE });
    await store.accept(sooner, jobsOf("S3", [{}]));
    const now = T0 + 70 * MINUTE;
    const order = [await claimed(store, now), await claimed(store, now), await claimed(store, now)];
    expect(order.map(({ id }) => id)).toEqual(["S3-0", "S1-0", "S2-0"]);
  },

  async "lists in the order of claims"(store) {
    await withJobs(store, [{ priority: 102 }, { priority: 101 }]);
    expect(ids(await store.jobs({ order: "rank" }))).toEqual(["S1-1", "S1-0"]);
    expect(ids(await store.jobs({ limit: 1 }))).toEqual(["S1-0"]);
    const { id } = await claimed(store);
    expect(ids(await store.jobs({ owner: "box", states: ["CLAIMED"] }))).toEqual([id]);
    expect(ids(await store.jobs({ states: ["COMPLETE"] }))).toEqual([]);
  },

  async "only for runners that this machine has"(store) {
    await withJobs(store, [{ runner: "elsewhere" }]);
    expect(await store.claim("box", T0, CAN)).toBeUndefined();
    expect(await store.claim("box", T0, { runners: [] })).toBeUndefined();
    expect(await store.nextDue(T0, CAN)).toBeNull();
    expect(await store.blocked(T0, CAN)).toMatchObject({ other_runner: 1, ready: 0 });
    const both = { runners: ["local", "elsewhere"] };
    expect(await store.nextDue(T0, both)).toBe(T0);
    expect((await store.claim("box", T0, both))?.id).toBe("S1-0");
  },

  async "only models that this machine has the memory for"(store) {
    await withJobs(store, [
      { memory_mb: 40_000, priority: 1 },
      { memory_mb: 16_000, not_before: new Date(T0 + MINUTE).toISOString() },
      { memory_mb: 16_001, not_before: new Date(T0 + 1).toISOString() },
    ]);
    const small = { ...CAN, memory_mb: 16_000 };
    expect(await store.claim("box", T0, small)).toBeUndefined();
    expect(await store.nextDue(T0, small)).toBe(T0 + MINUTE);
    expect(await store.blocked(T0, small)).toMatchObject({
      ready: 0,
      too_big: 1,
      not_due: 2,
      other_runner: 0,
      next_due_ms: T0 + MINUTE,
    });
    expect(await store.blocked(T0 + 1, small)).toMatchObject({ ready: 0, too_big: 2 });
    expect((await store.claim("box", T0 + MINUTE, small))?.id).toBe("S1-1");
    // More memory, or memory that nobody knows.
    expect(await store.nextDue(T0, { ...CAN, memory_mb: null })).toBe(T0);
    expect((await store.claim("box", T0 + MINUTE, { ...CAN, memory_mb: 48_000 }))?.id).toBe("S1-0");
    expect((await store.claim("box", T0 + MINUTE, CAN))?.id).toBe("S1-2");
  },

  async "not before not_before, also where the clock is set back"(store) {
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
  },

  async "raises the fence and says who and when"(store) {
    await withJobs(store, [{}]);
    expect(await claimed(store, T0 + 3)).toMatchObject({
      state: "CLAIMED",
      owner: "box",
      fence: 1,
      claimed_at_ms: T0 + 3,
    });
    expect(await store.counts()).toMatchObject({ PENDING: 0, CLAIMED: 1 });
    expect(await store.blocked(T0, CAN)).toMatchObject({ running: 1, ready: 0 });
  },

  async "nobody claims who is not registered"(store) {
    await store.accept(submissionOf("S1"), jobsOf("S1", [{}]));
    await expect(store.claim("box", T0, CAN)).rejects.toMatchObject({ code: "owner_unknown" });
  },
};
