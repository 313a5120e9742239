import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import { START, type State } from "../../../src/daemon/core.ts";
import { startText } from "../../../src/daemon/idle/snapshot.ts";
import { Report } from "../../../src/daemon/report.ts";
import { readSnapshot } from "../../../src/daemon/snapshot.ts";
import type { Job } from "../../../src/queue/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { jobsOf } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const HOUR = 3_600_000;
const IDLE: State = { ...START, phase: "idle" };

function openReport() {
  const said: string[] = [];
  const path = join(tempDir(), "daemon.json");
  const clock = new FakeClock();
  const report = new Report({
    path,
    standing: {
      root: "/station",
      process: { pid: 1, start_token: "1", boot_id: "1" },
      owner_id: "box",
      runners: [],
      memory_mb: null,
      lock_path: "/lock",
      inbox: { path: "/station/inbox", min_age_ms: 30_000 },
    },
    clock,
    log: silentLog(),
    say: (text) => said.push(text),
  });
  const snapshot = () => {
    report.flush();
    return readSnapshot(path);
  };
  return { path, report, clock, said, snapshot };
}

test("a warning that is said again is kept once, and one that is over not at all", () => {
  const { report, clock, snapshot } = openReport();
  const texts = () => snapshot()?.warnings.map(({ text }) => text);
  report.state({ ...IDLE, barred: "disk low" }, null);
  report.warn("odd name");
  clock.advance(1000);
  report.warn("odd name");
  report.state({ ...IDLE, barred: "disk low" }, null);
  expect(texts()).toEqual(["disk low", "odd name"]);
  report.state(IDLE, null);
  expect(texts()).toEqual(["odd name"]);
});

test("before its first round it is starting, then idle", () => {
  const { report } = openReport();
  expect(report.line()).toBe("starting");
  report.state(IDLE, null);
  expect(report.line()).toBe("idle");
});

test.each<[Partial<State>, string]>([
  [{ lock_held: "held by pid 7" }, "waiting for the model lock, held by pid 7"],
  [{ barred: "disk low: 3 MB" }, "disk low: 3 MB"],
  [{ stop: "soft" }, "stopping"],
])("what keeps it from work is its line: %j", (change, line) => {
  const { report } = openReport();
  report.state({ ...IDLE, ...change }, null);
  expect(report.line()).toBe(line);
});

test("a job that runs is its line, with the step", () => {
  const { report } = openReport();
  const job = { ...jobsOf("S", [{}])[0], submission_id: "S" } as Job;
  report.jobStarts(job);
  report.state({ ...IDLE, running: job.id }, null);
  const named = `${job.entry.model.id} (job ${job.id})`;
  expect(report.line()).toBe(named);
  report.event({ type: "step_start", entry: {} as never, step: "eval" });
  expect(report.line()).toBe(`${named}, eval`);
  report.state({ ...IDLE, running: job.id, stop: "soft" }, null);
  expect(report.line()).toBe(`stopping: ${named}, eval`);
});

test("a closed window is its line where a job waits for it, and in the snapshot in any case", () => {
  const { report, clock, snapshot } = openReport();
  const opens_ms = clock.now_ms() + HOUR;
  const opens = new Date(opens_ms).toISOString();
  report.window(opens_ms);
  report.state(IDLE, null);
  expect([report.line(), snapshot()?.window_opens]).toEqual(["idle", opens]);
  report.state({ ...IDLE, due_at_ms: opens_ms }, null);
  expect(report.line()).toBe(`jobs wait for the window, which opens at ${opens}`);
  clock.advance(HOUR);
  report.window(clock.now_ms());
  report.state(IDLE, null);
  expect([report.line(), snapshot()?.window_opens]).toEqual(["idle", null]);
  report.window(null);
  report.state(IDLE, null);
  expect(snapshot()?.window_opens).toBeNull();
});

test("what is scheduled is in the snapshot", () => {
  const { report, snapshot } = openReport();
  const views = [{ name: "nightly", next: null, trouble: "no such file" }];
  report.schedule(views);
  report.state(IDLE, null);
  expect(snapshot()?.schedule).toEqual(views);
});

test("changes that come together are written together, the last one as it is", () => {
  const { path, report, snapshot } = openReport();
  report.state(IDLE, 1000);
  report.state({ ...START, phase: "barred", barred: "disk low: 3 MB" }, 2000);
  expect(existsSync(path)).toBe(false);
  expect(snapshot()).toMatchObject({
    phase: "barred",
    barred: "disk low: 3 MB",
    next_look: "1970-01-01T00:00:02.000Z",
  });
});

test("what nobody changed is not written again", () => {
  const { path, report } = openReport();
  report.state(IDLE, null);
  report.flush();
  rmSync(path);
  report.flush();
  expect(existsSync(path)).toBe(false);
});

test("a wait for the model lock is said once, as long as it is the same holder", () => {
  const { report, said } = openReport();
  for (const lock_held of ["held by pid 5", "held by pid 5", "held by pid 6"]) {
    report.state({ ...START, phase: "waiting_for_lock", lock_held }, null);
  }
  report.flush();
  expect(said).toEqual([
    "waiting for the model lock, held by pid 5",
    "waiting for the model lock, held by pid 6",
  ]);
});

test("what is measured in idle hours is its line", () => {
  const { report } = openReport();
  const doing = { ...startText("calibrate", 0), model: "tiny" };
  report.idle({ doing, waiting: [] });
  report.state({ ...IDLE, phase: "measuring", idle_work: "calibrate" }, null);
  expect(report.line()).toBe("measuring slots of tiny: about to begin");
  const left_s = { low: 600, high: 1200 };
  const gives_way = { ...doing, message: "n = 2", steps_done: 4, steps_about: 9, left_s };
  report.idle({ doing: { ...gives_way, giving_way: "a job is due" }, waiting: [] });
  expect(report.line()).toBe(
    "measuring slots of tiny: 4 of about 9 steps, about 15 min left; gives way after this step, a job is due",
  );
});
