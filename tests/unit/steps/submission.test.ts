import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { summarySchema, type Summary } from "../../../src/queue/summary.ts";
import { world } from "./world.ts";

const entry = (model: string, more: Record<string, unknown> = {}) => ({
  model,
  pack: "p",
  runner: "a",
  ...more,
});

const rows = (summary: Summary) =>
  summary.entries.map((one) => [one.model_id, one.status, one.eval_status, one.judge_status]);

describe("one night", () => {
  test("reset, settle, load, eval; then the next, whatever happened to the first", async () => {
    const w = world();
    w.write([entry("x"), entry("y")]);
    w.plays["eval x"] = ["fail"];
    const { exit_code, summary, directory } = await w.run();
    expect(exit_code).toBe(1);
    expect(rows(summary)).toEqual([
      ["x", "failed", "failed", "skipped"],
      ["y", "ok", "ok", "skipped"],
    ]);
    expect(w.log).toEqual([
      "lock 0",
      "unload a",
      "load x @a",
      "eval x @a",
      "unload a",
      "load y @a",
      "eval y @a",
      "unlock",
    ]);
    expect(summary.entries[0]).toMatchObject({
      error: "eval: it broke (exit 1)",
      advice: "mend it",
    });
    const written = JSON.parse(readFileSync(join(directory, "summary.json"), "utf8"));
    expect(summarySchema.parse(written)).toEqual(summary);
    const steps = JSON.parse(readFileSync(join(directory, "e0-x-pack", "steps.json"), "utf8"));
    expect(steps.attempts[0]).toMatchObject({
      reset: { outcome: "ok", how: "unload" },
      settle: { outcome: "ok", waited_s: 6 },
    });
  });

  test("a running step is visible in the summary", async () => {
    const w = world();
    w.write([entry("x")]);
    const seen: unknown[] = [];
    const look = (name: string): void => {
      const opened = w.events.find((event) => event.type === "opened");
      const text = readFileSync(join(opened?.directory ?? "", "summary.json"), "utf8");
      const [row] = summarySchema.parse(JSON.parse(text)).entries;
      seen.push([name, row?.status, row?.step, row?.eval_status, row?.since === null]);
    };
    // As soon as it was started: the start itself does not wait for the disk.
    w.onStep = (name) => queueMicrotask(() => look(name));
    await w.run();
    expect(seen).toEqual([
      ["load x @a", "running", "load", "pending", false],
      ["eval x @a", "running", "eval", "running", false],
    ]);
  });

  test.each([
    ["dead", "failed", "endpoint dead"],
    ["empty", "failed", "ended well but eval.done is missing"],
    ["hang", "stalled", "no sign of life for 20 s"],
    ["vanish", "failed", "could not be started: no such program"],
  ] as const)("an eval that plays %s is %s", async (play, status, error) => {
    const w = world();
    w.write([entry("x")]);
    w.plays["eval x"] = [play];
    const { summary } = await w.run();
    expect(summary.entries[0]).toMatchObject({ status, eval_status: status });
    expect(summary.entries[0]?.error).toContain(error);
  });

  test("a load that fails skips the eval and the judge", async () => {
    const w = world();
    w.write([entry("x", { judge_config: "j" })]);
    w.plays["load x"] = ["hang"];
    const { summary } = await w.run();
    expect(rows(summary)).toEqual([["x", "timeout", "skipped", "skipped"]]);
    expect(w.steps()).toEqual(["load x @a"]);
  });

  test("a reset that fails and memory that stays are warnings", async () => {
    const w = world();
    w.write([entry("x", { settle: { timeout_s: 10 } })]);
    w.unload = "failed";
    w.loaded = ["old"];
    const { summary, exit_code } = await w.run();
    expect(exit_code).toBe(0);
    expect(summary.entries[0]?.warnings).toEqual([
      "reset failed: would not",
      "memory was not released (1000 MB): still in memory: old",
    ]);
  });

  test("of a fixed runner, settle and load do not apply", async () => {
    const w = world();
    w.residency = "fixed";
    w.write([entry("x")]);
    const { summary } = await w.run();
    expect(summary.entries[0]).toMatchObject({ status: "ok", load_status: "not_applicable" });
  });

  test("a runner that does not answer costs seconds, not an hour", async () => {
    const w = world();
    w.reachable = false;
    w.write([entry("x")]);
    const { summary } = await w.run();
    expect(w.steps()).toEqual([]);
    expect(summary.entries[0]?.error).toContain('endpoint dead: the runner "a" (http://a)');
    expect(w.clock.monotonic_ms()).toBeLessThan(60_000);
  });
});

describe("the judge", () => {
  const judged = { judge_config: "j" };

  test("another model: reset and settle before it", async () => {
    const w = world();
    w.write([entry("x", judged)]);
    const { summary } = await w.run();
    expect(rows(summary)).toEqual([["x", "ok", "ok", "ok"]]);
    expect(w.log.slice(1, -1)).toEqual([
      "unload a",
      "load x @a",
      "eval x @a",
      "unload a",
      "judge x @a",
    ]);
  });

  test("the model that was tested: nothing in between", async () => {
    const w = world();
    w.judge = { runner: "a", model: "x" };
    w.write([entry("x", judged)]);
    await w.run();
    expect(w.log.filter((line) => line === "unload a")).toHaveLength(1);
  });

  test("on another runner: that one's", async () => {
    const w = world();
    w.judge = { runner: "b", model: "big" };
    w.write([entry("x", judged)]);
    await w.run();
    expect(w.log.slice(-3)).toEqual(["unload a", "judge x @b", "unlock"]);
  });

  test("one that failed is retried alone", async () => {
    const w = world();
    w.write([entry("x", judged)]);
    w.plays["judge x"] = ["fail", "ok"];
    const first = await w.run();
    expect(rows(first.summary)).toEqual([["x", "failed", "ok", "failed"]]);
    w.log.length = 0;
    const second = await w.run({ resume: first.directory });
    expect(second.exit_code).toBe(0);
    expect(w.log).toEqual(["lock 0", "judge x @a", "unlock"]);
    expect(second.summary.entries[0]).toMatchObject({ error: null, attempts: 2 });
  });
});

describe("order", () => {
  test("priority, then place; what waits for a failed one fails with that reason", async () => {
    const w = world();
    w.write([
      entry("late", { priority: 200 }),
      entry("bad", { id: "bad" }),
      entry("child", { id: "child", after: ["bad"], priority: 1 }),
      entry("grandchild", { after: ["child"] }),
      entry("soon", { priority: 5 }),
    ]);
    w.plays["eval bad"] = ["fail"];
    const { summary } = await w.run();
    expect(w.steps().filter((line) => line.startsWith("eval"))).toEqual([
      "eval soon @a",
      "eval bad @a",
      "eval late @a",
    ]);
    expect(summary.entries[2]?.error).toBe("waits for bad, which did not complete");
    expect(summary.entries[3]?.error).toBe("waits for child, which did not complete");
    expect(summary.entries[3]).toMatchObject({ status: "failed", eval_status: "skipped" });
  });

  test("not_before waits without the lock and without a runner of ours", async () => {
    const w = world();
    w.own = ["a"];
    const due = new Date(w.clock.now_ms() + 3_600_000).toISOString();
    w.write([entry("x", { not_before: due, priority: 1 }), entry("y")]);
    const { exit_code } = await w.run();
    expect(exit_code).toBe(0);
    const order = w.log.filter((line) => /lock|start|stop|eval/.test(line));
    expect(order).toEqual([
      "lock 0",
      "start a",
      "eval y @a",
      "stop a",
      "unlock",
      "lock Infinity",
      "start a",
      "eval x @a",
      "stop a",
      "unlock",
    ]);
    expect(w.clock.now_ms()).toBeGreaterThanOrEqual(Date.parse(due));
  });
});

describe("resuming", () => {
  test("runs what is not finished, adds times up and keeps the first start", async () => {
    const w = world();
    w.write([entry("x"), entry("y")]);
    w.plays["eval y"] = ["hang", "ok"];
    const first = structuredClone((await w.run()).summary);
    w.log.length = 0;
    const directory = join(w.dir, "runs", "2026-01-15T20-00-00Z-ID0001-night");
    const { summary, exit_code } = await w.run({ resume: directory, file: null });
    expect(exit_code).toBe(0);
    expect(w.steps()).toEqual(["load y @a", "eval y @a"]);
    expect(summary.started).toBe(first.started);
    expect(summary.resumed).toHaveLength(1);
    expect(summary.entries[1]?.eval_seconds).toBeGreaterThanOrEqual(20);
    expect(summary.resume_command).toBeNull();
  });

  test("a file that was changed since is refused; the same one is not", async () => {
    const w = world();
    const path = w.write([entry("x")]);
    const { directory } = await w.run();
    expect((await w.run({ resume: directory, file: path })).exit_code).toBe(0);
    w.write([entry("x"), entry("y")]);
    await expect(w.run({ resume: directory, file: path })).rejects.toMatchObject({
      code: "source_changed",
    });
  });

  test("editing or deleting the pack and the file changes nothing", async () => {
    const w = world();
    const path = w.write([entry("x")]);
    w.plays["eval x"] = ["fail", "ok"];
    const { directory } = await w.run();
    rmSync(path);
    writeFileSync(join(w.dir, "p"), "another pack");
    expect((await w.run({ resume: directory, file: null })).exit_code).toBe(0);
  });

  test("a snapshot that was touched is refused", async () => {
    const w = world();
    w.write([entry("x")]);
    const { directory } = await w.run();
    writeFileSync(join(directory, "source.json"), "{}");
    await expect(w.run({ resume: directory, file: null })).rejects.toMatchObject({
      code: "snapshot_changed",
    });
    await expect(w.run({ resume: w.dir, file: null })).rejects.toMatchObject({
      code: "no_submission",
    });
  });

  test.each(["", "{", '{"schema_version":1}'])(
    "a summary that is %j is rebuilt from the bundles, with a warning",
    async (text) => {
      const w = world();
      w.write([entry("x"), entry("y")]);
      w.plays["eval y"] = ["fail", "ok"];
      const { directory } = await w.run();
      writeFileSync(join(directory, "summary.json"), text);
      w.log.length = 0;
      const { summary } = await w.run({ resume: directory, file: null });
      expect(w.steps()).toEqual(["load y @a", "eval y @a"]);
      expect(summary.warnings).toEqual(["summary.json was unreadable: rebuilt from the bundles"]);
      expect(summary.ok).toBe(2);
    },
  );

  test("a bundle that is gone is made again, whatever the summary says", async () => {
    const w = world();
    w.write([entry("x")]);
    const { directory } = await w.run();
    rmSync(join(directory, "e0-x-pack"), { recursive: true });
    w.log.length = 0;
    await w.run({ resume: directory, file: null });
    expect(w.steps()).toEqual(["load x @a", "eval x @a"]);
  });

  test.each(["eval", "judge"])(
    "a %s that was killed right after its work is not done again",
    async (kind) => {
      const w = world();
      w.write([entry("x", { judge_config: "j" })]);
      w.plays[`${kind} x`] = ["late"];
      const { directory, summary: first } = await w.run();
      expect(first.entries[0]).toMatchObject({ status: "failed" });
      w.log.length = 0;
      const { summary, exit_code } = await w.run({ resume: directory, file: null });
      expect(exit_code).toBe(0);
      expect(rows(summary)).toEqual([["x", "ok", "ok", "ok"]]);
      expect(w.log.filter((line) => line.startsWith(kind))).toEqual([]);
      expect(w.log.filter((line) => line.startsWith("load"))).toEqual([]);
    },
  );

  test("attempts run out; a stalled one is tried twice at most", async () => {
    const w = world();
    w.write([entry("x", { max_attempts: 3 }), entry("y")]);
    w.plays["eval x"] = ["fail"];
    w.plays["eval y"] = ["hang"];
    const { directory } = await w.run();
    for (let round = 0; round < 4; round += 1) await w.run({ resume: directory, file: null });
    const count = (name: string) => w.steps().filter((line) => line === `eval ${name} @a`).length;
    expect([count("x"), count("y")]).toEqual([3, 2]);
    const { summary } = await w.run({ resume: directory, file: null });
    expect(summary.entries[0]?.error).toMatch(/^all 3 attempts are used; last: .*it broke/);
    expect(summary.entries[1]?.error).toMatch(/^timed out twice; last: .*no sign of life/);
    expect(summary.entries.map((one) => one.status)).toEqual(["failed", "stalled"]);
  });
});

describe("stopping", () => {
  test("the user's stop ends the step, counts as no attempt, and can be resumed", async () => {
    const w = world();
    w.write([entry("x"), entry("y")]);
    w.plays["eval x"] = ["hang", "ok"];
    w.onStep = (name) => {
      if (name === "eval x @a") w.stop.abort();
    };
    const { summary, exit_code, directory } = await w.run();
    expect(exit_code).toBe(1);
    expect(summary).toMatchObject({ state: "interrupted", done: 0 });
    // Whole, so that it works wherever it is pasted.
    expect(summary.resume_command).toBe(
      `touchstoned queue run --resume ${directory} --station /station`,
    );
    expect(rows(summary).map((row) => row[1])).toEqual(["interrupted", "pending"]);
    expect(summary.entries[0]?.attempts).toBe(0);
    w.onStep = () => undefined;
    const fresh = new AbortController().signal;
    const again = await w.run({ resume: directory, file: null, signal: fresh });
    expect(again.exit_code).toBe(0);
  });

  test("too little disk stops the run before the next entry, with the reason", async () => {
    const w = world();
    w.write([entry("x"), entry("y")]);
    w.onStep = () => (w.free_mb = 100);
    const { summary, exit_code } = await w.run();
    expect(exit_code).toBe(1);
    expect(summary).toMatchObject({ state: "stopped", done: 1 });
    expect(summary.reason).toContain("only 100 MB of disk left");
    expect(w.steps()).toEqual(["load x @a", "eval x @a"]);
  });

  test("a busy lock makes nothing, not even a directory", async () => {
    const w = world();
    w.write([entry("x")]);
    const rooms = { ...w.rooms(), lock: () => Promise.reject(new Error("busy")) };
    await expect(w.run({ rooms })).rejects.toThrow("busy");
    expect(() => readFileSync(join(w.dir, "runs"))).toThrow("ENOENT");
  });
});
