import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockStatus } from "../../../src/station/index.ts";
import { Night, ownRunner, packText, processesWith } from "./setting.ts";

test("queue check proves a night: who speaks, who is not there, the judge as well", async () => {
  const night = new Night({ runners: [ownRunner("own")] });
  night.write("pack.json", packText({ prompts: 1, max_tokens: 8 }));
  night.write("judge.yaml", "runner: own\nmodel: nobody\n");
  const file = night.write("night.json", {
    entries: [
      { model: "tiny", pack: "pack.json" },
      { model: "absent", pack: "pack.json", judge_config: "judge.yaml" },
    ],
  });
  const { exit_code, stdout, stderr } = await night.run("queue", "check", file, "--json");
  expect(stderr).not.toContain("error:");
  expect(exit_code).toBe(1);
  const report = JSON.parse(stdout);
  const rows = report.rows.map((row: Record<string, unknown>) => [
    row["model"],
    row["role"],
    row["ok"],
    row["status"],
    row["evicted"],
  ]);
  expect(rows).toEqual([
    ["tiny", "model", true, "ok", null],
    ["absent", "model", false, "not_tried", null],
    ["nobody", "judge", false, "not_tried", null],
  ]);
  expect(report.rows[0].eviction_reason).toContain("not applicable");
  expect(report.rows[0].first_token_s).toBeGreaterThan(0);
  const markdown = readFileSync(join(report.directory, "check.md"), "utf8");
  expect(markdown).toContain("2 of 3 models cannot be measured");
  expect(processesWith(report.directory)).toEqual([]);
  expect((await lockStatus(night.env["TOUCHSTONED_LOCK"] ?? "")).held).toBe(false);
});

test("what is wrong in a queue file is said with file and line, and nothing is started", async () => {
  const night = new Night({ runners: [ownRunner("own")] });
  night.write("pack.json", '{"id": "x", "titel": "y"}');
  const file = night.write(
    "night.yaml",
    "entries:\n  - model: tiny\n    pack: pack.json\n    pak: 1\n",
  );
  const unknown = await night.run("queue", "run", file);
  expect(unknown.exit_code).toBe(64);
  expect(unknown.stderr).toMatch(/night\.yaml:4:5: .*unknown key "pak".*"pack"/);
  night.write("night.yaml", "entries:\n  - model: tiny\n    pack: pack.json\n");
  const broken = await night.run("queue", "run", file);
  expect(broken.exit_code).toBe(64);
  expect(broken.stderr).toMatch(/night\.yaml:3:\d+: .*pack\.json:1:\d+: .*titel/);
  night.write("night.yaml", "entries:\n  - model: tiny\n    pack: ../../pack.json\n");
  expect((await night.run("queue", "run", file)).stderr).toContain("leads out of the station");
  expect(night.submissions()).toEqual([]);
  expect((await night.run("queue", "run")).exit_code).toBe(2);
});
