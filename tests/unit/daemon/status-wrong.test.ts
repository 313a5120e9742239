import { describe, expect, it, test } from "vitest";
import { statusText, type StationStatus } from "../../../src/daemon/light.ts";
import { whatIsWrong } from "../../../src/daemon/status-wrong.ts";

const NOW = Date.UTC(2026, 10, 29, 7, 0, 0);
const LIVE = { updated: new Date(NOW - 30_000).toISOString(), barred: null };
const FILE = { name: "a.yaml", ripe: null, stuck: null };

function statusOf(change: Partial<StationStatus> = {}): StationStatus {
  const blocked = { other_runner: 0, too_big: 0 } as StationStatus["blocked"];
  const daemon = { running: true, pid: 7, since: null, phase: "idle", stopping: false } as const;
  const nothing = { running: null, orphan: null, counts: null, inbox: [], warnings: [] };
  const rest = { inbox_blocked: null, store_trouble: null, evidence_waiting: null, wrong: null };
  const idle = { idle_work: null, measurements_wait: [], schedule: [] };
  const base = { root: "/b", state_dir: "/s", why_idle: "idle", ...idle };
  return { ...base, daemon, blocked, ...nothing, ...rest, ...change };
}

it("one fault is told once in full, and elsewhere shortly", () => {
  const fault = "/m/machine.yaml:3:1: no such key runers";
  const at = new Date(NOW).toISOString();
  const text = statusText(
    statusOf({
      wrong: fault,
      why_idle: fault,
      measurements_wait: [{ runner: "r", model: "m", why: fault }] as never,
      inbox_blocked: fault,
      warnings: [
        { at, text: fault },
        { at, text: "another one entirely" },
      ],
    }),
    NOW,
  );
  expect(text.split(fault)).toHaveLength(2);
  expect(text).toContain("nothing runs: see above");
  expect(text).toContain("inbox: see above");
  expect(text).toContain("another one entirely");
});

describe("what is wrong", () => {
  it.each<[string, Partial<StationStatus>]>([
    ["nothing", {}],
    ["a held queue", { why_idle: "the queue is held" }],
    [
      "evidence that was only just written",
      {
        evidence_waiting: { waiting: 1, reason: null, tried_at: null },
      },
    ],
  ])("is nothing: %s", (_what, change) => {
    expect(whatIsWrong(statusOf(change), LIVE, NOW)).toBeNull();
  });

  it("is nothing where no daemon runs and nothing waits for one", () => {
    expect(whatIsWrong(statusOf(), null, NOW)).toBeNull();
    const inbox = [{ ...FILE, stuck: "it is no queue file" }];
    expect(whatIsWrong(statusOf({ inbox }), null, NOW)).toBe(
      "a.yaml is not taken up: it is no queue file",
    );
  });

  it.each<[string, Partial<StationStatus>, Partial<typeof LIVE> | { barred: string } | null]>([
    [
      "not a readable queue store (touchstoned doctor)",
      {
        store_trouble: "not a readable queue store",
        inbox_blocked: "x",
      },
      {},
    ],
    [
      "no daemon runs, and 1 file waits (touchstoned start where it is installed, else touchstoned daemon)",
      { inbox: [FILE] },
      null,
    ],
    [
      "no daemon runs, and 2 jobs and 1 file wait (touchstoned start where it is installed, else touchstoned daemon)",
      {
        inbox: [FILE],
        counts: { PENDING: 2 } as StationStatus["counts"],
      },
      null,
    ],
    [
      "no daemon runs, and the step that it began runs on without it",
      {
        orphan: { job_id: "J", step: "eval", pid: 1 },
      },
      null,
    ],
    ["has not moved for 20 min", {}, { updated: new Date(NOW - 1_200_000).toISOString() }],
    ["disk low", { inbox_blocked: "chmod" }, { barred: "disk low" }],
    [
      "nothing is taken up: chmod",
      { inbox_blocked: "chmod", inbox: [{ ...FILE, stuck: "y" }] },
      {},
    ],
    ["a.yaml is not taken up: ENOSPC", { inbox: [{ ...FILE, stuck: "ENOSPC" }] }, {}],
    [
      "2 jobs cannot run here: machine.yaml",
      {
        blocked: { other_runner: 2, too_big: 1 } as StationStatus["blocked"],
      },
      {},
    ],
    [
      "1 job cannot run here: this machine has too little memory",
      {
        blocked: { other_runner: 0, too_big: 1 } as StationStatus["blocked"],
      },
      {},
    ],
    [
      "evidence cannot be committed: HEAD is detached",
      {
        evidence_waiting: { waiting: 1, reason: "HEAD is detached", tried_at: null },
      },
      {},
    ],
  ])("%s", (expected, change, live) => {
    const said = whatIsWrong(statusOf(change), live === null ? null : { ...LIVE, ...live }, NOW);
    expect(said).toContain(expected);
    expect(said).not.toContain("\n");
  });
});

test("it is the first line of the text, and not there where nothing is wrong", () => {
  const wrong = "disk low";
  expect(statusText(statusOf({ wrong }), NOW).split("\n")[0]).toBe("WRONG: disk low");
  expect(statusText(statusOf(), NOW)).not.toContain("WRONG");
});
