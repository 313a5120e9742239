import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { world } from "./world.ts";

test("a bundle that is moved away costs its entry and not the night", async () => {
  const w = world();
  w.write([
    { model: "x", pack: "p", runner: "a" },
    { model: "y", pack: "p", runner: "a" },
  ]);
  w.onStep = (name) => {
    if (!name.startsWith("eval x")) return;
    const runs = join(w.dir, "runs");
    for (const run of readdirSync(runs)) rmSync(join(runs, run, "e0-x-pack"), { recursive: true });
  };
  const { summary, exit_code } = await w.run();
  expect(exit_code).toBe(1);
  expect(summary.entries.map((row) => [row.model_id, row.status])).toEqual([
    ["x", "failed"],
    ["y", "ok"],
  ]);
  expect(summary.entries[0]?.error).toContain("ENOENT");
});

test("an eval that was whole when we were killed is not run again", async () => {
  const w = world();
  w.write([{ model: "x", pack: "p", runner: "a", judge_config: "j" }]);
  w.plays["eval x"] = ["fail"];
  const first = await w.run();
  const [row] = first.summary.entries;
  writeFileSync(join(first.directory, row?.bundle_dir ?? "", "eval.done"), "");
  w.log.length = 0;
  const second = await w.run({ resume: first.directory });
  expect(w.steps()).toEqual(["judge x @a"]);
  expect(second.summary.entries[0]).toMatchObject({ status: "ok", eval_status: "ok" });
});
