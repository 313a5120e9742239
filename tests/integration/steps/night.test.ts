import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundleState } from "../../../src/eval/index.ts";
import { lockStatus } from "../../../src/station/index.ts";
import { realKind, startRealServer } from "../../helpers/llama-server.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { Night, packText, processesWith, readSummary, startProxy } from "./setting.ts";

async function server() {
  const started = await startRealServer(tempDir());
  onTestFinished(() => started.stop());
  return started;
}

test("a night of four: one absent, one dies, one hangs, one is well; resume does the rest", async () => {
  const [well, mortal, hanging] = [await server(), await server(), await server()];
  const [deadly, frozen] = [await startProxy(mortal.url), await startProxy(hanging.url)];
  deadly.onAnswer(() => process.kill(mortal.pid, "SIGKILL"));
  frozen.onAnswer(() => process.kill(hanging.pid, "SIGSTOP"));
  const kind = realKind() === "embedded" ? "openai" : "llama-server";
  const night = new Night({
    runners: [
      { name: "well", kind, url: well.url },
      { name: "deadly", kind, url: deadly.url },
      { name: "frozen", kind, url: frozen.url },
    ],
  });
  night.write("pack.json", packText({ prompts: 2, max_tokens: 400 }));
  const file = night.write("night.json", {
    defaults: { idle_timeout_s: { eval: 8 } },
    entries: [
      { model: "absent", pack: "pack.json", runner: "well" },
      { model: "tiny", pack: "pack.json", runner: "deadly" },
      { model: "tiny", pack: "pack.json", runner: "frozen" },
      { model: "tiny", pack: "pack.json", runner: "well" },
    ],
  });

  const first = await night.run("queue", "run", file);
  expect(first.exit_code).toBe(1);
  const [directory = ""] = night.submissions();
  const before = readSummary(directory);
  expect(before).toMatchObject({ state: "done", total: 4, done: 4, ok: 1 });
  expect(before.entries.map((entry) => entry.status)).toEqual([
    "failed",
    "failed",
    "stalled",
    "ok",
  ]);
  expect(before.entries[0]).toMatchObject({ load_status: "failed", eval_status: "skipped" });
  expect(before.entries[0]?.error).toContain("absent");
  expect(before.entries[0]?.advice).toContain("a name that the runner serves");
  expect(before.entries[1]).toMatchObject({ eval_status: "failed" });
  expect(before.entries[2]?.error).toContain("no sign of life for 8 s");
  expect(before.entries[3]?.result).toMatchObject({ cells_ok: 2, cells_failed: 0 });
  const bundles = before.entries.map((entry) => join(directory, entry.bundle_dir));
  expect(bundles.map((path) => bundleState(path).state === "whole")).toEqual([
    false,
    false,
    false,
    true,
  ]);
  const markdown = readFileSync(join(directory, "summary.md"), "utf8");
  expect(markdown).toContain("**Finished: 1 of 4 ok, 2 failed, 1 stalled.**");
  expect(markdown).toContain(`queue run --resume`);
  expect(first.stdout).toContain("1 of 4 ok");
  expect(first.stderr).toContain("to go on: touchstoned queue run --resume");
  expect(processesWith(directory)).toEqual([]);
  expect((await lockStatus(night.env["TOUCHSTONED_LOCK"] ?? "")).held).toBe(false);

  // In the morning: the dead one is started again, the frozen one thaws.
  deadly.target((await server()).url);
  process.kill(hanging.pid, "SIGCONT");
  const whole = join(bundles[3] ?? "", "bundle.json");
  const wholeSince = statSync(whole).mtimeMs;
  const second = await night.run("queue", "run", "--resume", directory, "--json");
  expect(second.exit_code).toBe(1);
  const after = readSummary(directory);
  expect(JSON.parse(second.stdout)).toMatchObject({ directory, ok: 3 });
  expect(after.entries.map((entry) => entry.status)).toEqual(["failed", "ok", "ok", "ok"]);
  expect(after.entries.map((entry) => entry.attempts)).toEqual([2, 2, 2, 1]);
  expect(statSync(whole).mtimeMs).toBe(wholeSince);
  expect(after.started).toBe(before.started);
  expect(after.resumed).toHaveLength(1);
  for (const i of [1, 2]) {
    const seconds = [before, after].map((summary) => summary.entries[i]?.eval_seconds ?? 0);
    expect(seconds[1]).toBeGreaterThan(seconds[0] ?? 0);
    expect(bundleState(bundles[i] ?? "").state).toBe("whole");
  }
}, 240_000);

test("a dead endpoint is said to be one, and the next entry runs", async () => {
  const started = await server();
  const kind = realKind() === "embedded" ? "openai" : "llama-server";
  const night = new Night({
    runners: [
      { name: "dead", kind, url: "http://127.0.0.1:9" },
      { name: "well", kind, url: started.url },
    ],
  });
  night.write("pack.json", packText({ prompts: 1, max_tokens: 8 }));
  const file = night.write("night.json", {
    entries: [
      { model: "tiny", pack: "pack.json", runner: "dead", id: "first" },
      { model: "tiny", pack: "pack.json", runner: "well" },
      { model: { id: "tiny", quant: "q" }, pack: "pack.json", runner: "well", after: ["first"] },
    ],
  });
  expect((await night.run("queue", "run", file)).exit_code).toBe(1);
  const { entries } = readSummary(night.submissions()[0] ?? "");
  expect(entries.map((entry) => entry.status)).toEqual(["failed", "ok", "failed"]);
  expect(entries[0]?.error).toContain("endpoint dead");
  expect(entries[2]?.error).toBe("waits for first, which did not complete");
});
