import { describe, expect, test } from "vitest";
import {
  countEntries,
  headline,
  summaryMarkdown,
  type EntrySummary,
  type Summary,
} from "../../../src/queue/index.ts";

function row(index: number, change: Partial<EntrySummary> = {}): EntrySummary {
  return {
    index,
    id: null,
    key: String(index),
    model_id: `m${index}`,
    quant: "",
    runner: "local",
    config: null,
    pack: "p.yaml",
    judge_config: null,
    judge_model: null,
    bundle_dir: `e${index}-m-p`,
    status: "ok",
    step: null,
    since: null,
    attempts: 1,
    load_status: "ok",
    eval_status: "ok",
    judge_status: "skipped",
    load_seconds: 2,
    eval_seconds: 3725,
    judge_seconds: 0,
    error: null,
    advice: null,
    warnings: [],
    result: null,
    job: null,
    ...change,
  };
}

function summary(entries: EntrySummary[], change: Partial<Summary> = {}): Summary {
  const made: Summary = {
    schema_version: 1,
    id: "01ABC",
    state: "done",
    reason: null,
    source: { path: "/st/night.yaml", sha256: "abc" },
    started: "2026-01-15T20:00:00.000Z",
    resumed: [],
    updated: "2026-01-16T06:00:00.000Z",
    ended: "2026-01-16T06:00:00.000Z",
    total: 0,
    done: 0,
    ok: 0,
    warnings: [],
    resume_command: null,
    entries,
    ...change,
  };
  countEntries(made);
  return made;
}

describe("the first sentence", () => {
  test.each([
    [[row(0), row(1)], {}, "All is well: 2 of 2 ok."],
    [
      [row(0), row(1, { status: "failed" }), row(2, { status: "stalled" })],
      {},
      "Finished: 1 of 3 ok, 1 failed, 1 stalled.",
    ],
    [
      [row(0, { status: "running", step: "eval", since: "2026-01-15T21:00:00.000Z" })],
      { state: "running" },
      "Not finished: 0 of 1 ok, 1 not finished. Now: entry 0 (m0): eval since 2026-01-15 21:00 UTC.",
    ],
    [
      [row(0, { status: "pending" })],
      { state: "waiting", reason: "waiting until X" },
      "Not finished: 0 of 1 ok, 1 not finished. Now: waiting until X.",
    ],
    [
      [row(0), row(1, { status: "pending" })],
      { state: "stopped", reason: "disk" },
      "Stopped early (disk): 1 of 2 ok, 1 not finished.",
    ],
    [
      [row(0, { status: "interrupted" })],
      { state: "interrupted", reason: "by the user" },
      "Interrupted (by the user): 0 of 1 ok, 1 interrupted.",
    ],
  ] as const)("%#", (entries, change, expected) => {
    expect(headline(summary([...entries], change))).toBe(expected);
  });
});

test("an interrupted or running entry has not ended", () => {
  const statuses = ["ok", "failed", "interrupted", "running", "pending", "stalled"] as const;
  const counted = summary(statuses.map((status, i) => row(i, { status })));
  expect([counted.total, counted.done, counted.ok]).toEqual([6, 3, 1]);
});

describe("the page", () => {
  const page = summaryMarkdown(
    summary(
      [
        row(0, {
          quant: "q4",
          result: {
            cells_total: 4,
            cells_ok: 4,
            cells_failed: 0,
            ttft_s: 0.1234,
            decode_tps: 31.26,
            e2e_s: 2,
            load_s: null,
            weights_delta_mb: null,
          },
        }),
        row(1, {
          model_id: "a|b`<c",
          status: "failed",
          eval_status: "failed",
          error: "eval: endpoint\ndead",
          advice: "start it",
          warnings: ["reset failed"],
        }),
      ],
      { resume_command: "touchstoned queue run --resume /runs/x" },
    ),
    "/runs/x",
  );

  test("says first what happened, then the table, errors with what to do, medians, places", () => {
    const order = [
      "# Queue run 01ABC",
      "**Finished: 1 of 2 ok, 1 failed.**",
      "| # | model",
      "What went wrong:** eval: endpoint dead",
      "What to do:** start it",
      "Warning: reset failed",
      "## Medians of the good ones",
      "## Where everything is",
      "touchstoned queue run --resume /runs/x",
    ].map((text) => page.indexOf(text));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
  });

  test("has times that a person reads and figures with their digits", () => {
    expect(page).toContain("ok 1 h 02 min");
    expect(page).toMatch(/m0 \(q4\) +\| 4 +\| 0 +\| 0\.123 +\| 31\.3/);
  });

  test("no name breaks the table, and unknown is an empty cell", () => {
    expect(page).toContain("a\\|b\\`&lt;c");
    expect(page).not.toMatch(/null|NaN|undefined/);
    const row1 = page.split("\n").find((line) => line.startsWith("| 1"));
    expect(row1?.replaceAll("\\|", "").split("|")).toHaveLength(11);
  });
});
