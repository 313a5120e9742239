import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inputError, TouchstonedError } from "../../../src/core/errors.ts";
import { silentLog } from "../../../src/core/log.ts";
import { JobRun, type JobPlaceFault, type JobRunDeps } from "../../../src/daemon/job-run.ts";
import { writeRunning } from "../../../src/daemon/running-record.ts";
import type { Job } from "../../../src/queue/index.ts";
import type { RunEvent } from "../../../src/steps/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const GONE = inputError("the directory is gone");
const FULL = new TouchstonedError({ code: "cannot_write", exitCode: 1, message: "disk is full" });

/** A claimed job whose submission cannot be opened, for the reason given. */
async function claimed(reason: Error) {
  const store = new MemoryStore();
  await store.accept(submissionOf("S"), jobsOf("S", [{}]));
  await store.register(ownerOf("box"), T0);
  const job = await store.claim("box", T0, { runners: ["local"] });
  if (job === undefined) throw new Error("nothing was claimed");
  const clock = new FakeClock({ wall_ms: T0, jumpSleeps: true });
  const synced: string[] = [];
  const warnings: string[] = [];
  const running_path = join(tempDir(), "running.json");
  let held = 1;
  const hard = new AbortController();
  const deps = {
    store,
    // Nothing but the clock is asked for before the submission is open.
    rooms: { clock } as unknown as JobRunDeps["rooms"],
    summaries: {
      open: () => Promise.reject(reason),
      sync: async (id: string) => void synced.push(id),
    } as unknown as JobRunDeps["summaries"],
    log: silentLog(),
    running_path,
    min_free_disk_mb: 0,
    soft: new AbortController().signal,
    hard: hard.signal,
    directoryFault: (): JobPlaceFault | null => null,
    claimDirectory: async () => ({ release: () => undefined }),
    keepAwake: async () => ({ release: async () => undefined }),
    emit: (_job: Job, event: RunEvent) =>
      void (event.type === "warning" && warnings.push(event.text)),
  };
  const lock = { path: "/lock", release: () => void (held -= 1) };
  return { store, job, clock, deps, lock, synced, warnings, running_path, hard, held: () => held };
}

test("what no retry can cure fails for good, the lock is given back, the summary written", async () => {
  const { store, job, deps, lock, synced, held } = await claimed(GONE);
  await new JobRun(deps, job).run(lock);
  expect(await store.job(job.id)).toMatchObject({
    state: "FAILED",
    final: true,
    attempt_count: 1,
    failure: { kind: "incurable", message: "the directory is gone" },
  });
  expect(held()).toBe(0);
  expect(synced).toEqual(["S"]);
});

test("a full disk is no attempt", async () => {
  const { store, job, deps, lock } = await claimed(FULL);
  await new JobRun(deps, job).run(lock);
  expect(await store.job(job.id)).toMatchObject({ state: "PENDING", attempt_count: 0 });
});

test("what fails while the daemon is stopped, as its runner may be, is no attempt", async () => {
  const { store, job, deps, lock } = await claimed(new Error("connection refused"));
  deps.soft = AbortSignal.abort();
  await new JobRun(deps, job).run(lock);
  expect(await store.job(job.id)).toMatchObject({ state: "PENDING", attempt_count: 0 });
});

test("what no retry can cure fails also while the daemon is stopped", async () => {
  const { store, job, deps, lock } = await claimed(GONE);
  deps.soft = AbortSignal.abort();
  await new JobRun(deps, job).run(lock);
  expect(await store.job(job.id)).toMatchObject({ state: "FAILED", final: true });
});

test("a disk that is away is no attempt, before and after the steps", async () => {
  const fault = { reason: "the runs are not at /ext", returns: true };
  for (const faults of [[fault], [null, fault]]) {
    const { store, job, deps, lock, warnings } = await claimed(GONE);
    deps.directoryFault = () => faults.shift() ?? null;
    await new JobRun(deps, job).run(lock);
    const after = { state: "PENDING", attempt_count: 0, failure: null, held_at_ms: null };
    expect(await store.job(job.id)).toMatchObject(after);
    expect(warnings).toEqual([]);
  }
});

test("a run that was removed under a waiting job: it is held, and the person is told", async () => {
  const { store, job, deps, lock, warnings } = await claimed(GONE);
  deps.directoryFault = () => ({ reason: "its run /runs/S is not there", returns: false });
  await new JobRun(deps, job).run(lock);
  const after = await store.job(job.id);
  expect(after).toMatchObject({ state: "PENDING", attempt_count: 0 });
  expect(after?.held_at_ms).not.toBeNull();
  expect(warnings.join()).toContain(`held: its run /runs/S is not there; put it back and`);
});

test("an end that cannot be stored is told again until it is", async () => {
  const { store, job, deps, lock, clock, warnings, held } = await claimed(GONE);
  let refusals = 3;
  const fail = store.fail.bind(store);
  store.fail = async (...args) => {
    if ((refusals -= 1) >= 0) throw new Error("ENOSPC");
    return fail(...args);
  };
  await new JobRun(deps, job).run(lock);
  expect((await store.job(job.id))?.state).toBe("FAILED");
  expect(clock.monotonic_ms()).toBe(15_000);
  expect(warnings).toEqual([`job ${job.id} has ended, which cannot be stored yet: ENOSPC`]);
  expect(held()).toBe(0);
});

test("a stop at once leaves it to the next daemon's reaping", async () => {
  const { store, job, deps, lock, hard, held } = await claimed(GONE);
  store.fail = () => Promise.reject(new Error("ENOSPC"));
  hard.abort();
  await new JobRun(deps, job).run(lock);
  expect((await store.job(job.id))?.state).toBe("IN_PROGRESS");
  expect(held()).toBe(0);
  await store.reap(T0, () => "dead");
  expect(await store.job(job.id)).toMatchObject({ state: "PENDING", attempt_count: 0 });
});

test("one that was cancelled between claim and start is not run", async () => {
  const { store, job, deps, lock, synced, held } = await claimed(GONE);
  await store.cancel(job.id, T0);
  await new JobRun(deps, job).run(lock);
  expect((await store.job(job.id))?.state).toBe("CANCELLED");
  expect([held(), synced]).toEqual([0, []]);
});

test("one that cannot be started goes back, and is not left claimed", async () => {
  const { store, job, deps, lock } = await claimed(GONE);
  store.start = () => Promise.reject(new Error("EIO"));
  await new JobRun(deps, job).run(lock);
  expect((await store.job(job.id))?.state).toBe("PENDING");
});

test("the record of its step is gone when it has ended", async () => {
  const { job, deps, lock, running_path } = await claimed(GONE);
  writeRunning(running_path, {
    schema_version: 1,
    job_id: job.id,
    fence: job.fence,
    kind: "eval",
    started_ms: T0,
    log_path: "/log",
    token: "T",
    root: null,
    own_runner: false,
  });
  await new JobRun(deps, job).run(lock);
  expect(existsSync(running_path)).toBe(false);
});
