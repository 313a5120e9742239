import { expect } from "vitest";
import { OWNER_SILENCE_MS } from "../../../src/store/index.ts";
import { ownerOf, T0 } from "../../helpers/store-fixtures.ts";
import { MINUTE, withJobs, claimed, started, type Topic } from "./conformance-kit.ts";

export const OWNERS: Topic = {
  async "register, beat, deregister"(store) {
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
  },

  async "an owner with a job cannot leave"(store) {
    await withJobs(store, [{}]);
    const job = await claimed(store);
    expect(await store.deregister("box")).toMatchObject({ code: "owner_busy" });
    await store.interrupt(job.id, job.fence, T0, "shutdown");
    expect(await store.deregister("box")).toEqual({ ok: true });
  },

  async "the dead give their jobs back under a new fence"(store) {
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
  },

  async "silence is death only where nobody can look"(store) {
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
  },

  async "the third owner that dies of a job is its failure"(store) {
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
  },

  async "what still runs can be adopted by the next owner"(store) {
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
  },
};
