import { expect } from "vitest";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { withJobs, claimed, started, type Topic } from "./conformance-kit.ts";

export const TAKING_UP: Topic = {
  async "keeps what was given"(store) {
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
  },

  async "the same taking-up again changes nothing"(store) {
    await withJobs(store, [{}]);
    const report = await store.accept(submissionOf("S1"), jobsOf("S1", [{}]));
    expect(report).toEqual({ outcome: "already", submission_id: "S1" });
    expect(await store.jobs()).toHaveLength(1);
  },

  async "the same bytes are refused while they are open and new work afterwards"(store) {
    await withJobs(store, [{}]);
    const again = submissionOf("S2", { sha256: submissionOf("S1").sha256 });
    const refused = await store.accept(again, jobsOf("S2", [{}]));
    expect(refused).toEqual({ outcome: "duplicate", submission_id: "S1" });
    expect(await store.submission("S2")).toBeUndefined();
    const job = await started(store);
    await store.complete(job.id, job.fence, T0, {});
    expect((await store.accept(again, jobsOf("S2", [{}]))).outcome).toBe("accepted");
  },

  async "an id is never used twice, and the whole file is refused with it"(store) {
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
  },

  async "what a rebuild found done starts out COMPLETE and frees what waits"(store) {
    const [done, next] = jobsOf("S1", [{ id: "a" }, { after: ["a"] }]);
    if (done === undefined || next === undefined) throw new Error("no jobs");
    const result = { cells_ok: 3 };
    const restored = { state: "COMPLETE", result, ended_at_ms: T0 - 5 } as const;
    await store.accept(submissionOf("S1"), [{ ...done, restored }, next]);
    await store.register(ownerOf("box"), T0);
    expect(await store.job("S1-0")).toMatchObject({ state: "COMPLETE", result: { cells_ok: 3 } });
    expect(await store.submission("S1")).toMatchObject({ open_jobs: 1 });
    expect((await claimed(store)).id).toBe("S1-1");
    const whole = jobsOf("S2", [{}]).map((job) => Object.assign(job, { restored }));
    await store.accept(submissionOf("S2"), whole);
    expect(await store.submission("S2")).toMatchObject({ open_jobs: 0, ended_at_ms: T0 - 5 });
  },

  async "what had ended otherwise starts out so, and stands in nobody's way"(store) {
    const sha256 = "the same bytes";
    await store.accept(submissionOf("S0", { sha256 }), jobsOf("S0", [{}]));
    const failure = { kind: "error", message: "no answer", step: "eval" } as const;
    const ends = [
      { state: "FAILED", failure, ended_at_ms: T0 - 5 },
      { state: "CANCELLED", ended_at_ms: T0 - 4 },
    ] as const;
    const jobs = jobsOf("S1", [{ id: "a" }, { after: ["a"] }]).map((job, at) =>
      Object.assign(job, { restored: ends[at] }),
    );
    const report = await store.accept(submissionOf("S1", { sha256 }), jobs);
    expect(report.outcome).toBe("accepted");
    expect(await store.jobsOf("S1")).toMatchObject([
      { state: "FAILED", final: true, failure, ended_at_ms: T0 - 5 },
      { state: "CANCELLED", ended_at_ms: T0 - 4 },
    ]);
    expect(await store.submission("S1")).toMatchObject({ open_jobs: 0, ended_at_ms: T0 - 4 });
    expect(await store.failDependants(T0)).toEqual([]);
    expect(await store.check()).toEqual([]);
    expect((await store.retry("S1-0", T0)).ok).toBe(true);
  },

  async "ended submissions wait to be placed"(store) {
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
  },
};
