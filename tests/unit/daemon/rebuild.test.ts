import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import { checkStation } from "../../../src/daemon/fsck.ts";
import { rebuildStore } from "../../../src/daemon/rebuild.ts";
import { Summaries } from "../../../src/daemon/summaries.ts";
import type { JobFailure } from "../../../src/queue/index.ts";
import { planSubmission, takeUp } from "../../../src/steps/index.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { ownerOf } from "../../helpers/store-fixtures.ts";
import { world } from "../steps/world.ts";

const NO_ANSWER: JobFailure = { kind: "incurable", message: "no answer", step: "eval" };

/** A station whose jobs end as a test says, and whose store is then made anew. */
class Station {
  readonly w = world();
  readonly rooms = this.w.rooms();
  readonly runs_dir = join(this.w.dir, "runs");
  readonly inbox = join(this.w.dir, "inbox");
  readonly store = new MemoryStore();
  readonly summaries = new Summaries({ store: this.store, rooms: this.rooms, log: silentLog() });
  #ids = 0;

  constructor() {
    for (const folder of ["done", "failed"])
      mkdirSync(join(this.inbox, folder), { recursive: true });
  }

  get #now(): number {
    return this.rooms.clock.now_ms();
  }

  #id(): string {
    return `01M8KZMWDDFEQZATBDDN6P${String((this.#ids += 1)).padStart(4, "0")}`;
  }

  /** Takes up a file with an entry for each of `models`. */
  async accept(name: string, models: readonly string[]): Promise<string> {
    const text = JSON.stringify({
      entries: models.map((model) => ({ model, pack: "p", runner: "a" })),
    });
    const path = join(this.inbox, name);
    writeFileSync(path, text);
    const { context, loaders } = this.w.taking();
    const taken = takeUp(path, readFileSync(path), context, loaders);
    const id = this.#id();
    const plan = planSubmission({ id, path, taken, context, loaders, created_ms: this.#now });
    const directory = join(this.runs_dir, plan.directory);
    for (const file of plan.files) {
      mkdirSync(dirname(join(directory, file.path)), { recursive: true });
      writeFileSync(join(directory, file.path), file.bytes);
    }
    await this.store.accept(
      {
        id,
        file_name: name,
        sha256: taken.sha256,
        snapshot_path: join(directory, plan.source),
        accepted_at_ms: this.#now,
        detail: { file_key: "", directory, warnings: [] },
      },
      plan.jobs.map(({ entry, bundle }, index) => ({
        id: this.#id(),
        index,
        entry,
        bundle_dir: join(directory, bundle),
      })),
    );
    await this.summaries.sync(id);
    return id;
  }

  async end(submission: string, index: number, how: "ok" | "fail" | "cancel"): Promise<void> {
    const job = (await this.store.jobsOf(submission))[index];
    if (job === undefined) throw new Error("no such job");
    if (how === "cancel") await this.store.cancel(job.id, this.#now);
    else {
      await this.store.register(ownerOf("box"), this.#now);
      const claimed = await this.store.claim("box", this.#now, { runners: ["a"] });
      expect(claimed?.id).toBe(job.id);
      const fence = claimed?.fence ?? 0;
      await this.store.start(job.id, fence, this.#now);
      if (how === "fail") await this.store.fail(job.id, fence, this.#now, NO_ANSWER);
      else {
        mkdirSync(job.bundle_dir, { recursive: true });
        writeFileSync(join(job.bundle_dir, "eval.done"), "");
        await this.store.complete(job.id, fence, this.#now, {});
        const { summary } = await this.summaries.open(submission);
        summary.update(({ entries }) => {
          const row = entries.find((one) => one.index === index);
          if (row !== undefined) row.status = "ok";
        });
      }
    }
    await this.summaries.sync(submission);
  }

  async place(id: string, folder: "done" | "failed"): Promise<void> {
    const submission = await this.store.submission(id);
    const name = submission?.file_name ?? "";
    const target = join(this.inbox, folder, `2026-01-15T20-00-00Z-${id}-${name}`);
    renameSync(join(this.inbox, name), target);
    await this.store.place(id, target, this.#now);
  }

  async rebuild(held = false) {
    const { runs_dir, inbox, rooms, w } = this;
    const store = new MemoryStore();
    const new_id = () => this.#id();
    const options = { ...w.taking(), store, runs_dir, inbox, rooms, new_id, held };
    const report = await rebuildStore(options);
    const fsck = await checkStation({
      store,
      root: w.dir,
      runs_dir,
      state_dir: join(w.dir, "state"),
      lock_path: join(w.dir, "lock"),
      rooms,
      runs_fault: null,
    });
    return { store, report, fsck };
  }
}

test("submissions that ended are known again as they ended, and fsck is content after git clean", async () => {
  const station = new Station();
  const failed = await station.accept("f.json", ["x", "y"]);
  await station.end(failed, 0, "ok");
  await station.end(failed, 1, "fail");
  await station.place(failed, "failed");
  const cancelled = await station.accept("c.json", ["x"]);
  await station.end(cancelled, 0, "cancel");
  // What `git clean -fdx` leaves of the inbox.
  rmSync(station.inbox, { recursive: true });
  const { store, report, fsck } = await station.rebuild();
  expect(report).toMatchObject({ complete: 1, pending: 0, failed: 1, cancelled: 1, left_out: [] });
  expect(fsck).toMatchObject({ violations: [], notes: [] });
  expect(await store.jobsOf(failed)).toMatchObject([
    { state: "COMPLETE" },
    { state: "FAILED", final: true, failure: { message: "no answer" } },
  ]);
  expect(await store.jobsOf(cancelled)).toMatchObject([{ state: "CANCELLED" }]);
});

test("the numbers are those of the list: to run is what waits; results of a failed file stay", async () => {
  const station = new Station();
  const open = await station.accept("o.json", ["x", "y", "z"]);
  await station.end(open, 2, "cancel");
  const failed = await station.accept("f.json", ["x2", "y2"]);
  await station.store.hold("queue", 1);
  await station.store.release("queue", 2);
  for (const job of await station.store.jobsOf(open)) await station.store.hold(job.id, 3);
  await station.end(failed, 0, "ok");
  await station.end(failed, 1, "fail");
  await station.place(failed, "failed");
  const { store, report, fsck } = await station.rebuild();
  expect(report).toMatchObject({
    submissions: 2,
    complete: 1,
    pending: 2,
    failed: 1,
    cancelled: 1,
  });
  const counts = await store.counts();
  expect(counts).toMatchObject({ PENDING: 2, CANCELLED: 1, COMPLETE: 1, FAILED: 1 });
  expect(await store.submissions({ placed: true })).toMatchObject([{ id: failed }]);
  expect(fsck.violations).toEqual([]);
  expect(basename((await store.submission(failed))?.placed_path ?? "")).toContain("f.json");
  expect(readdirSync(station.inbox)).toContain("o.json");
});

test("a queue that was held is held", async () => {
  const station = new Station();
  await station.accept("o.json", ["x"]);
  const can = { runners: ["a"] };
  const free = await station.rebuild();
  expect((await free.store.blocked(0, can)).queue_held_at_ms).toBeNull();
  const held = await station.rebuild(true);
  expect(held.report.held).toBe(true);
  expect((await held.store.blocked(0, can)).queue_held_at_ms).not.toBeNull();
});
