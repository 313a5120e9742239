import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { processIdentity } from "../../../src/core/process-table.ts";
import { stateFiles } from "../../../src/daemon/files.ts";
import { readStatus, statusText } from "../../../src/daemon/light.ts";
import { writeRunning } from "../../../src/daemon/running-record.ts";
import { writeSnapshot, type DaemonSnapshot } from "../../../src/daemon/snapshot.ts";
import { openSqliteStore, QUEUE, type Store } from "../../../src/store/index.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const ALIVE = processIdentity(process.pid) ?? { pid: 0, start_token: "", boot_id: "" };

function snapshotOf(root: string, change: Partial<DaemonSnapshot> = {}): DaemonSnapshot {
  const time = new Date(T0).toISOString();
  return {
    schema_version: 1,
    root,
    process: ALIVE,
    owner_id: "box",
    started: time,
    updated: time,
    phase: "idle",
    stop: "none",
    runners: ["local"],
    lock_path: "/lock",
    lock_held: null,
    barred: null,
    running: null,
    inbox: { path: join(root, "inbox"), min_age_ms: 30_000, blocked: null },
    next_look: null,
    warnings: [],
    ...change,
  };
}

/** A station with a store that `fill` fills, and a daemon that says `change` of itself. */
async function stationOf(
  fill: (store: Store) => Promise<unknown>,
  change: Partial<DaemonSnapshot> | null = {},
) {
  const [root, state_dir] = [tempDir(), tempDir()];
  const files = stateFiles(state_dir);
  mkdirSync(join(root, "inbox"));
  const { store } = await openSqliteStore({ path: files.store, now_ms: T0, role: "owner" });
  await fill(store);
  await store.close();
  if (change !== null) writeSnapshot(files.snapshot, snapshotOf(root, change));
  return { root, state_dir, status: (now_ms = T0) => readStatus({ root, state_dir, now_ms }) };
}

const oneJob = (store: Store) => store.accept(submissionOf("S"), jobsOf("S", [{}]));
const later = new Date(T0 + 3_600_000).toISOString();

describe("why nothing runs", () => {
  test.each<[string, (store: Store) => Promise<unknown>, Partial<DaemonSnapshot> | null, string]>([
    ["nothing is there", async () => undefined, {}, "idle, the queue is empty"],
    [
      "no daemon",
      oneJob,
      null,
      "the daemon is not running (touchstoned start where it is installed, else touchstoned daemon)",
    ],
    ["a daemon that died", oneJob, { process: { ...ALIVE, start_token: "x" } }, "not running"],
    ["another boot", oneJob, { process: { ...ALIVE, boot_id: "x" } }, "not running"],
    ["it is stopping", oneJob, { stop: "soft" }, "the daemon is stopping"],
    ["disk low", oneJob, { barred: "disk low: only 3 MB left" }, "only 3 MB left"],
    [
      "the lock",
      oneJob,
      { lock_held: "held by pid 7 since T" },
      "model lock, held by pid 7 since T",
    ],
    ["it is about to", oneJob, {}, "1 job about to start"],
    [
      "the window is closed",
      oneJob,
      { window_opens: later, lock_held: "held by pid 7 since T" },
      `1 job waits for the window, which opens at ${later} (`,
    ],
    [
      "the window is closed and nothing waits",
      async () => undefined,
      { window_opens: later },
      "idle",
    ],
    ["a window that is open", oneJob, { window_opens: null }, "1 job about to start"],
    [
      "the queue is held",
      async (store) => [await oneJob(store), await store.hold(QUEUE, T0)],
      { lock_held: "held by x" },
      "the queue is held since 2026-01-15T20:00:00.000Z",
    ],
    [
      "a job is held",
      async (store) => [await oneJob(store), await store.hold("S-0", T0)],
      {},
      "1 job held",
    ],
    [
      "not due",
      (store) => store.accept(submissionOf("S"), jobsOf("S", [{ not_before: later }])),
      {},
      `1 job not due until ${later}`,
    ],
    [
      "no such runner",
      (store) =>
        store.accept(submissionOf("S"), jobsOf("S", [{ runner: "far" }, { runner: "far" }])),
      {},
      "2 jobs for runners that machine.yaml does not declare",
    ],
    [
      "a model that is too big for this machine",
      (store) =>
        store.accept(submissionOf("S"), jobsOf("S", [{ memory_mb: 40_000 }, { memory_mb: 9 }])),
      { memory_mb: 8 },
      "2 jobs whose model needs more memory than this machine has (touchstoned queue list)",
    ],
    [
      "memory that nobody knows",
      (store) => store.accept(submissionOf("S"), jobsOf("S", [{ memory_mb: 40_000 }])),
      { memory_mb: null },
      "1 job about to start",
    ],
    [
      "waiting for others",
      async (store) => [
        await store.accept(
          submissionOf("S"),
          jobsOf("S", [{ id: "a" }, { id: "b", after: ["a"] }]),
        ),
        await store.hold("S-0", T0),
      ],
      {},
      "1 job held (touchstoned queue release ID); 1 job waiting for others",
    ],
  ])("%s", async (_what, fill, change, expected) => {
    const { status } = await stationOf(fill, change);
    const report = await status();
    expect(report.why_idle).toContain(expected);
    expect(statusText(report, T0)).toContain(expected);
  });
});

test("what runs is shown with step, progress and a range of what is left", async () => {
  const running = {
    job_id: "S-0",
    submission_id: "S",
    index: 0,
    model_id: "made",
    bundle_dir: "/b",
    since: new Date(T0 - 120_000).toISOString(),
    step: "eval",
    step_since: new Date(T0 - 60_000).toISOString(),
    progress: { done: 3, failed: 1, total: 9 },
    left_s: { low: 100, high: 200 },
  };
  const { status } = await stationOf(
    async (store) => {
      await oneJob(store);
      await store.register(ownerOf("box"), T0);
      const job = await store.claim("box", T0, { runners: ["local"] });
      await store.start("S-0", job?.fence ?? 0, T0);
    },
    { phase: "running", running },
  );
  const report = await status();
  expect(report.why_idle).toBeNull();
  expect(report.counts).toMatchObject({ IN_PROGRESS: 1, PENDING: 0 });
  expect(statusText(report, T0).split("\n").slice(0, 3)).toEqual([
    "running: made (entry 1, job S-0) for 2 min",
    "  eval for 1 min: 3 of 9 cells, 1 failed, 1 min to 3 min left",
    "jobs: 1 in progress",
  ]);
});

test("files in the inbox are shown with when they fall ripe; those taken up are not", async () => {
  const { root, status } = await stationOf((store) =>
    store.accept(submissionOf("S", { file_name: "taken.yaml" }), jobsOf("S", [{}])),
  );
  for (const name of ["new.yaml", "taken.yaml", ".hidden.yaml", "README.md", "old.json"]) {
    writeFileSync(join(root, "inbox", name), "x");
  }
  utimesSync(join(root, "inbox", "old.json"), 1000, 1000);
  const now_ms = Date.now();
  const { inbox } = await status(now_ms);
  expect(inbox.map(({ name }) => name)).toEqual(["new.yaml", "old.json"]);
  // A copy with an old time is as new as its inode says.
  for (const { ripe } of inbox) expect(Date.parse(ripe ?? "")).toBeGreaterThan(now_ms);
});

test("a store that cannot be read is said, and nothing is thrown", async () => {
  const { state_dir, status } = await stationOf(oneJob);
  writeFileSync(stateFiles(state_dir).store, "no database".repeat(1000));
  const report = await status();
  expect(report.store_trouble).toContain("not a readable queue store");
  expect(report.why_idle).toBe("the store cannot be read");
  expect(statusText(report, T0)).toContain("store: ");
});

test("a store that is gone under a daemon is said", async () => {
  const { state_dir, status } = await stationOf(oneJob);
  rmSync(stateFiles(state_dir).store);
  expect((await status()).store_trouble).toContain("is gone while the daemon runs");
});

test("files that cannot be taken up are said not to be, with the reason", async () => {
  const stuck = { "full.yaml": "ENOSPC: no space left" };
  const inbox = { path: "/i", min_age_ms: 0, blocked: null, stuck };
  const { root, status } = await stationOf(async () => undefined, { inbox });
  const bad = Buffer.concat([
    Buffer.from(`${root}/inbox/bad`),
    Buffer.from([0xff]),
    Buffer.from(".yaml"),
  ]);
  writeFileSync(bad, "x");
  const long = `${"x".repeat(210)}.yaml`;
  for (const name of ["esc\u001b[2J.yaml", "full.yaml", "good.yaml", long]) {
    writeFileSync(join(root, "inbox", name), "x");
  }
  mkdirSync(join(root, "inbox", "folder.yaml"));
  const report = await status(Date.now() + 1000);
  const said = new Map(report.inbox.map((file) => [file.name, file.stuck]));
  expect(said.get("full.yaml")).toContain("ENOSPC");
  expect(said.get("good.yaml")).toBeNull();
  expect(said.get("folder.yaml")).toBe("left in place: it is a directory");
  expect(said.get("esc\u001b[2J.yaml")).toContain("control characters");
  expect(said.get(long)).toContain("longer than 200 bytes");
  expect(said.get("bad\uFFFD.yaml")).toContain("not UTF-8");
  const text = statusText(report, Date.now() + 1000);
  expect(text.match(/about to be taken up/g)).toHaveLength(1);
  expect(text).not.toContain("\u001b");
});

test("in an inbox that is not trusted nothing is about to be taken up", async () => {
  const inbox = { path: "/i", min_age_ms: 0, blocked: "run: chmod go-w /i" };
  const { root, status } = await stationOf(async () => undefined, { inbox });
  writeFileSync(join(root, "inbox", "a.yaml"), "x");
  const text = statusText(await status(), T0);
  expect(text).toContain("inbox: a.yaml: waits: nothing is taken up now");
  expect(text).toContain("chmod go-w");
});

test("a step that runs on without its daemon is said", async () => {
  const { state_dir, status } = await stationOf(oneJob, null);
  writeRunning(stateFiles(state_dir).running, {
    schema_version: 1,
    job_id: "S-0",
    fence: 1,
    kind: "eval",
    started_ms: T0,
    log_path: "/log",
    token: "T",
    root: ALIVE,
    own_runner: false,
  });
  const report = await status();
  expect(report.orphan).toEqual({ job_id: "S-0", step: "eval", pid: process.pid });
  const text = statusText(report, T0);
  expect(text).toContain(`the eval of job S-0 runs on (pid ${process.pid})`);
  expect(text).not.toContain("nothing runs");
});

test.each([
  [
    "a while ago: it is asked whether the disk is full",
    60_000,
    `a daemon (pid ${process.pid}) holds the station's lock and has not said`.slice(0, 60),
  ],
  ["just now: it is about to begin", 1000, null],
])("a daemon that took the lock and said nothing, %s", async (_when, ago_ms, wrong) => {
  const { state_dir, status } = await stationOf(oneJob, null);
  const { lock } = stateFiles(state_dir);
  writeFileSync(lock, "");
  const since = new Date(T0 - ago_ms).toISOString();
  const holder = { ...ALIVE, purpose: "daemon", run_id: null, since };
  writeFileSync(`${lock}.info`, JSON.stringify(holder));
  const report = await status();
  expect(report.daemon).toMatchObject({ running: false, mute: { pid: process.pid } });
  expect(report.wrong?.slice(0, 60) ?? null).toEqual(wrong);
  expect(statusText(report, T0)).not.toContain("touchstoned start");
  writeFileSync(`${lock}.info`, JSON.stringify({ ...holder, purpose: "queue rebuild" }));
  expect((await status()).wrong).toContain("no daemon runs");
});

test("with no state at all it says so", async () => {
  const report = await readStatus({ root: tempDir(), state_dir: join(tempDir(), "x"), now_ms: T0 });
  expect(report).toMatchObject({ counts: null, inbox: [], daemon: { running: false } });
});

test("evidence that is not in git yet is shown with what stands in the way", async () => {
  const { state_dir, status } = await stationOf(async () => undefined);
  expect((await status()).evidence_waiting).toBeNull();
  const outbox = join(state_dir, "outbox");
  mkdirSync(outbox);
  writeFileSync(join(outbox, "2026-01-10T10-05-00Z-c4d5c4d5.json"), "{}");
  const at = new Date(T0).toISOString();
  writeFileSync(
    join(outbox, "last-attempt.json"),
    JSON.stringify({ at, reason: "HEAD is detached" }),
  );
  const report = await status();
  expect(report.evidence_waiting).toEqual({ waiting: 1, reason: "HEAD is detached", tried_at: at });
  expect(statusText(report, T0)).toContain(
    "evidence: 1 not committed yet: HEAD is detached (touchstoned evidence commit)",
  );
});

test("what is scheduled is shown with its next time, and with what stands in the way", async () => {
  const schedule = [
    { name: "nightly", next: later, trouble: null },
    { name: "weekly", next: later, trouble: "/s/weekly.yaml: no such\u001b[2J file" },
  ];
  const { status } = await stationOf(async () => undefined, { schedule });
  const report = await status();
  expect(report.schedule).toEqual(schedule);
  const text = statusText(report, T0);
  expect(text).toContain(`schedule: nightly: ${later}\n`);
  expect(text).toContain(`schedule: weekly: ${later}, but now: /s/weekly.yaml: no such`);
  expect(text).not.toContain("\u001b");
});
