import { expect, test } from "vitest";
import type { ChildOutcome } from "../../../../src/daemon/idle/calibration-run.ts";
import type { IdleRequest } from "../../../../src/daemon/idle/decide.ts";
import { begin, NO_HISTORY, type IdleHistory } from "../../../../src/daemon/idle/history.ts";
import { IdleWork, type IdleDeps } from "../../../../src/daemon/idle/idle-work.ts";
import type { ChildEnd, HousekeepReport } from "../../../../src/daemon/idle/protocol.ts";
import { doingText, minutesText, type IdleSnapshot } from "../../../../src/daemon/idle/snapshot.ts";
import { FakeClock } from "../../../helpers/fake-clock.ts";

const ROUND = { soon: false, barred: null };
const X: IdleRequest = { key: "x", runner: "llama", model: "qwen", reason: "never", asked_ms: 1 };
const MEASURED: ChildEnd = { event: "measured", recommended: 2, max_safe: 4, commit_waits: "git" };

/** Idle hours in which everything goes as `change` has it. */
function world(
  change: Partial<IdleDeps> & { said?: ChildEnd; history0?: IdleHistory; closes?: boolean } = {},
) {
  const { said = MEASURED, history0 = NO_HISTORY, closes = true, ...deps } = change;
  const told: string[] = [];
  const snapshots: IdleSnapshot[] = [];
  const clock = new FakeClock();
  const kept = { history: history0 };
  let open = [X];
  const orphans: string[] = [];
  const quiet: HousekeepReport = { committed: 0, waiting: 0, reason: null, asked: [], pruned: 0 };
  const work = new IdleWork({
    clock,
    history: { load: () => kept.history, save: (history) => void (kept.history = history) },
    settings: () => ({
      policy: { by_itself: true, max_load: 1, max_pressure: 1, power: "any" },
      runners: ["llama"],
      configuration: "1",
      commits: true,
    }),
    requests: () => open,
    evidence: () => ({ outbox: 0, any: false }),
    device: async () => ({ load: 0, pressure: null, power: null }),
    window: async () => ({ open: true, next_ms: null }),
    hindrance: () => null,
    start: async () => (_, hooks) => {
      const progress = { message: "noise", steps_about: 9, low_s: 600, high_s: 1800 };
      hooks.onProgress({ ...progress, steps_done: 0 });
      hooks.onProgress({ ...progress, steps_done: 4 });
      if (said.event === "measured" && closes) open = [];
      const exit = { exit_code: 0, signal: null, spawn_error: null };
      const ended: Promise<ChildOutcome> = Promise.resolve({ said, exit, stderr: "" });
      return { giveWay: () => undefined, end: async () => undefined, ended };
    },
    housekeep: async () => quiet,
    endOrphan: async ({ token }) => void orphans.push(token),
    report: {
      say: (text) => told.push(text),
      warn: (text) => told.push(`warning: ${text}`),
      idle: (snapshot) => snapshots.push(snapshot),
    },
    hard: new AbortController().signal,
    ...deps,
  });
  const run = async (): Promise<void> => (await work.look(ROUND)).task?.run();
  return { work, run, told, snapshots, kept, orphans, clock };
}

test("a request is measured, and the log and `status` say so", async () => {
  const { run, told, snapshots, kept } = world();
  await run();
  expect(told).toEqual([
    "measuring slots of qwen with llama begins: never",
    "slots of qwen: 2 at once is best, 4 is safe; not committed yet: git",
  ]);
  const lines = snapshots.flatMap(({ doing }) =>
    doing === null ? [] : doingText(doing, minutesText),
  );
  expect(lines).toEqual([
    "measuring slots of qwen: about to begin",
    "measuring slots of qwen: 0 of about 9 steps, about 20 min left",
    "measuring slots of qwen: 4 of about 9 steps, about 20 min left",
  ]);
  expect(snapshots.at(-1)?.doing).toBeNull();
  expect([kept.history.begun, kept.history.keys]).toEqual([null, {}]);
});

test("one that stays open although it was answered is not answered again and again", async () => {
  const { run, told, kept, work } = world({ closes: false });
  await run();
  expect(told.at(-1)).toMatch(
    /^warning: slots of qwen are not measured: .* open all the same; tried/,
  );
  expect((await work.look(ROUND)).task).toBeNull();
  expect(kept.history.keys["x"]?.trouble?.code).toBe("still_open");
  const other = world({ said: { event: "not_requested" } });
  await other.run();
  expect(other.kept.history.keys["x"]?.trouble).toMatchObject({ kind: "cannot" });
});

test("the same reason for not now is said once, however often it is tried", async () => {
  const why = "runner ollama holds a model";
  const { run, told, clock } = world({
    said: { event: "refused", code: "not_alone", exit_code: 75, why },
  });
  for (let n = 0; n < 5; n += 1) {
    await run();
    clock.advance(3_600_000);
  }
  expect(told.filter((text) => text.includes(why))).toHaveLength(1);
});

test("what an earlier daemon left is ended and counted", async () => {
  const tree = { root: null, token: "t" };
  const begun = begin(NO_HISTORY, X, 0);
  const left = { ...begun, begun: { key: "x", asked_ms: 1, at_ms: 0, gained: false, tree } };
  const { run, told, orphans } = world({ history0: left });
  await run();
  expect(orphans).toEqual(["t"]);
  expect(told[0]).toContain("a calibration of an earlier daemon was cut off");
});

test("one that cannot even be begun is a failure, and waits", async () => {
  const { run, told, work } = world({
    start: () => Promise.reject(new Error("no memory")),
  });
  await run();
  expect(told).toEqual([
    expect.stringMatching(
      /^warning: slots of qwen are not measured: it cannot be begun: no memory/,
    ),
  ]);
  expect((await work.look(ROUND)).task).toBeNull();
});

test("a runner that is gone is said once; with nothing to do nothing is done", async () => {
  const gone = world({
    settings: () => ({
      policy: { by_itself: true, max_load: 1, max_pressure: 1, power: "any" },
      runners: [],
      configuration: "1",
      commits: true,
    }),
  });
  await gone.run();
  await gone.run();
  expect(gone.told).toEqual([
    'warning: slots of qwen are not measured: runner "llama" is not in machine.yaml any more',
  ]);
  const nothing = world({ requests: () => [] });
  expect(await nothing.work.look(ROUND)).toEqual({ task: null, look_at_ms: null });
  expect(nothing.snapshots).toEqual([]);
});

test("housekeeping says what it did, and what waits only when the reason is another", async () => {
  const report = { committed: 1, waiting: 1, reason: "a merge", asked: ["qwen"], pruned: 2 };
  const { run, told, clock } = world({
    requests: () => [],
    evidence: () => ({ outbox: 2, any: true }),
    housekeep: async () => report,
  });
  await run();
  clock.advance(86_400_000);
  await run();
  expect(told.filter((text) => text.includes("a merge"))).toHaveLength(1);
  expect(told.slice(0, 3)).toEqual([
    "evidence committed: 1",
    "stale evidence and requests removed: 2",
    "a new measurement is asked for: qwen",
  ]);
  const broken = world({
    requests: () => [],
    evidence: () => ({ outbox: 1, any: true }),
    housekeep: () => Promise.reject(new Error("no git")),
  });
  await broken.run();
  expect(broken.told).toEqual(["warning: housekeeping: no git"]);
});
