import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { checkStation } from "../../../src/daemon/fsck.ts";
import type { Restored, Submission } from "../../../src/store/index.ts";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { jobsOf, submissionOf } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const ID = "01M8KZMWDDFEQZATBDDN6PR0KF";
const TEXT = "a queue file";
const COMPLETE: Restored = { state: "COMPLETE", result: {}, ended_at_ms: 1 };

/** A station on the disk with a store in memory. `during` is done right after fsck's first reading. */
class Station {
  readonly root = tempDir();
  readonly runs_dir = join(this.root, "runs");
  readonly state_dir = join(this.root, "state");
  readonly store = new MemoryStore();
  readonly directory = join(this.runs_dir, "night");
  readonly bundle_dir = join(this.directory, "e0-made");
  /** Of the last check. */
  notes: unknown[] = [];

  constructor() {
    for (const dir of [this.runs_dir, join(this.root, "inbox", "done")]) {
      mkdirSync(dir, { recursive: true });
    }
    mkdirSync(join(this.state_dir, "intake"), { recursive: true });
  }

  writeDirectory(): void {
    mkdirSync(this.directory);
    writeFileSync(join(this.directory, "source.yaml"), TEXT);
    const record = {
      schema_version: 1,
      id: ID,
      created: "2026-01-15T20:00:00.000Z",
      origin: "inbox",
      source: { path: "night.yaml", sha256: sha256Hex(TEXT), copy: "source.yaml" },
      runner_override: null,
      inputs: [],
    };
    writeFileSync(join(this.directory, "submission.json"), JSON.stringify(record));
  }

  async accept(restored?: Restored): Promise<void> {
    const submission = submissionOf(ID, {
      sha256: sha256Hex(TEXT),
      snapshot_path: join(this.directory, "source.yaml"),
      detail: { file_key: "", directory: this.directory, warnings: [] },
    });
    const more = restored === undefined ? {} : { restored };
    const { bundle_dir } = this;
    const jobs = jobsOf(ID, [{}]).map((job) => Object.assign(job, { bundle_dir, ...more }));
    await this.store.accept(submission, jobs);
  }

  place(): void {
    writeFileSync(join(this.root, "inbox", "done", `2026-01-15T20-00-00Z-${ID}-n.yaml`), TEXT);
  }

  async check(during: (read: Submission[]) => Promise<void> = async () => {}) {
    const { store } = this;
    const reading = store.submissions.bind(store);
    store.submissions = async () => {
      const read = await reading();
      await during(read);
      return read;
    };
    const rooms = { stepFault: () => null };
    const { violations, notes } = await checkStation(
      Object.assign({}, this, { runs_fault: null, lock_path: join(this.root, "l"), rooms }),
    );
    this.notes = notes.map(({ rule, subject }) => [rule, subject]);
    return violations.map(({ rule, subject }) => [rule, subject]);
  }
}

test("a sound station", async () => {
  const station = new Station();
  station.writeDirectory();
  await station.accept();
  expect(await station.check()).toEqual([]);
});

test("a directory that the store does not know, unless its taking-up is under way", async () => {
  const station = new Station();
  station.writeDirectory();
  expect(await station.check()).toEqual([["accepted_not_lost", ID]]);
  writeFileSync(join(station.state_dir, "intake", "a.json"), JSON.stringify({ id: ID }));
  expect(await station.check()).toEqual([]);
});

test("a file that was put away before its jobs ended", async () => {
  const station = new Station();
  station.writeDirectory();
  await station.accept();
  station.place();
  expect(await station.check()).toEqual([["one_place", ID]]);
});

test("what a daemon does while fsck reads is no violation", async () => {
  const taken = new Station();
  // Taken up in the moment after the store was read.
  const violations = await taken.check(async () => {
    taken.writeDirectory();
    await taken.accept();
  });
  expect(violations).toEqual([]);
  const placed = new Station();
  placed.writeDirectory();
  await placed.accept();
  expect(await placed.check(async () => placed.place())).toEqual([]);
});

test("a record that nobody can read is named, and the rest is looked at", async () => {
  const station = new Station();
  station.writeDirectory();
  writeFileSync(join(station.directory, "submission.json"), "{");
  await station.accept();
  station.place();
  expect(await station.check()).toEqual([
    ["one_place", ID],
    ["readable_record", null],
  ]);
});

test("a snapshot that is gone or changed", async () => {
  const station = new Station();
  station.writeDirectory();
  await station.accept();
  writeFileSync(join(station.directory, "source.yaml"), "another text");
  expect(await station.check()).toEqual([["accepted_not_lost", ID]]);
});

test("results of a COMPLETE job that are gone, and a whole run that was removed", async () => {
  const station = new Station();
  station.writeDirectory();
  mkdirSync(station.bundle_dir);
  await station.accept(COMPLETE);
  await station.store.place(ID, "/inbox/done/n.yaml", 2);
  expect(await station.check()).toEqual([]);
  rmSync(station.bundle_dir, { recursive: true });
  expect(await station.check()).toEqual([["complete_has_results", `${ID}-0`]]);
  rmSync(station.directory, { recursive: true });
  expect(await station.check()).toEqual([]);
  expect(station.notes).toEqual([["run_removed", ID]]);
});

test("a run that is gone while its jobs wait is a violation", async () => {
  const station = new Station();
  await station.accept();
  expect(await station.check()).toEqual([["accepted_not_lost", ID]]);
  expect(station.notes).toEqual([]);
});

test("a directory that the store does not know and that had ended is no loss", async () => {
  const station = new Station();
  station.writeDirectory();
  const summary = { state: "done", ended: "2026-01-15T21:00:00.000Z", entries: [] };
  writeFileSync(join(station.directory, "summary.json"), JSON.stringify(summary));
  expect(await station.check()).toEqual([]);
  expect(station.notes).toEqual([["not_in_store", ID]]);
});
