import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { bundleState } from "../../../src/eval/index.ts";
import { lockStatus } from "../../../src/station/index.ts";
import { writeMadeModel } from "../../../src/models/index.ts";
import { random, testSeed } from "../../helpers/seeded.ts";
import { waitFor } from "../../helpers/wait.ts";
import { Night, ownRunner, packText, processesWith, readSummary } from "./setting.ts";

/** A night with a runner of its own, whose processes all name a file of this test alone. */
function ownNight(entries: number, prompts: number) {
  const night = new Night({});
  const model_file = writeMadeModel(join(night.home, "tiny.gguf")).path;
  night.writeMachine({ runners: [ownRunner("own", model_file)] });
  night.write("pack.json", packText({ prompts, max_tokens: 64 }));
  const file = night.write("night.json", {
    entries: Array.from({ length: entries }, (_, i) => ({
      model: { id: "tiny", quant: `q${i}` },
      pack: "pack.json",
    })),
  });
  return { night, file, lock: night.env["TOUCHSTONED_LOCK"] ?? "" };
}

/** The child of a step that is running in `home`. */
function stepChild(home: string): number | undefined {
  return processesWith(home).find((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes("_step");
    } catch {
      return false;
    }
  });
}

test("kill -9 of a step at 30 random moments: no orphan, and nothing looks whole that is not", async () => {
  const next = random(testSeed());
  const { night, file, lock } = ownNight(30, 6);
  const running = night.start("queue", "run", file);
  const over = new AbortController();
  const done = running.finished.finally(() => over.abort());
  const killed = new Set<string>();
  let last: number | undefined;
  while (killed.size < 30 && !over.signal.aborted) {
    const pid = stepChild(night.home);
    const [directory = ""] = night.submissions();
    if (pid === undefined || pid === last || directory === "") {
      await delay(20);
      continue;
    }
    last = pid;
    const entry = readSummary(directory).entries.find((one) => one.status === "running");
    if (entry === undefined || killed.has(entry.bundle_dir)) continue;
    // One in three dies while it loads, the others somewhere in the eval.
    if (entry.step === "load" && next() > 0.33) continue;
    killed.add(entry.bundle_dir);
    await delay(next() * 1500);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It was faster.
    }
  }
  const { exit_code } = await done;
  const [directory = ""] = night.submissions();
  const summary = readSummary(directory);
  expect(summary.state).toBe("done");
  expect(exit_code).toBe(summary.ok === 30 ? 0 : 1);
  for (const entry of summary.entries) {
    const whole = bundleState(join(directory, entry.bundle_dir)).state === "whole";
    expect([entry.index, whole]).toEqual([entry.index, entry.status === "ok"]);
    expect(entry.error ?? "SIGKILL").toContain("SIGKILL");
  }
  expect(summary.entries.filter((entry) => entry.status === "failed").length).toBeGreaterThan(5);
  expect(processesWith(night.home)).toEqual([]);
  expect((await lockStatus(lock)).held).toBe(false);
}, 600_000);

test("kill -9 of the run itself: step, server and lock go with it, and resume finishes", async () => {
  const next = random(testSeed());
  const { night, file, lock } = ownNight(2, 6);
  let args = ["queue", "run", file];
  for (let round = 0; round < 3; round += 1) {
    const running = night.start(...args);
    await waitFor("a step", () => stepChild(night.home), 60_000);
    await delay(next() * 2000);
    running.child.kill("SIGKILL");
    await running.finished;
    await waitFor("all to end", () => processesWith(night.home).length === 0, 15_000);
    // The kernel empties a dying process's command line before it closes its files.
    await waitFor("the lock", async () => !(await lockStatus(lock)).held, 5000);
    const [directory = ""] = night.submissions();
    for (const entry of readSummary(directory).entries) {
      const whole = bundleState(join(directory, entry.bundle_dir)).state === "whole";
      expect(entry.eval_status === "ok" && !whole).toBe(false);
    }
    args = ["queue", "run", "--resume", directory];
  }
  const last = await night.run(...args);
  expect(last.stderr).not.toContain("error:");
  expect(last.exit_code).toBe(0);
  const summary = readSummary(args[3] ?? "");
  expect(summary.resumed.length).toBeGreaterThan(0);
  expect(summary.ok).toBe(2);
}, 300_000);

test("Ctrl-C ends the step and says how to go on", async () => {
  const { night, file, lock } = ownNight(2, 40);
  const running = night.start("queue", "run", file);
  await waitFor("an eval", () => /tiny: eval$/m.test(running.output().stderr), 60_000);
  running.child.kill("SIGINT");
  const { exit_code, stderr } = await running.finished;
  expect(exit_code).toBe(1);
  expect(stderr).toContain("to go on: touchstoned queue run --resume");
  const [directory = ""] = night.submissions();
  const summary = readSummary(directory);
  expect(summary).toMatchObject({ state: "interrupted", done: 0 });
  expect(summary.entries.map((entry) => entry.status)).toEqual(["interrupted", "pending"]);
  expect(summary.entries[0]?.attempts).toBe(0);
  expect(processesWith(night.home)).toEqual([]);
  expect((await lockStatus(lock)).held).toBe(false);
});
