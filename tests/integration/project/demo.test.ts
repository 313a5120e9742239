import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findLlamaServer } from "../../helpers/llama-server.ts";
import { PROJECT_ROOT } from "../../helpers/project-files.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

interface DemoReport {
  exit_status: number;
  summary: string;
  bundles: string[];
  folder: string;
  entries: { status: string; eval_status: string; judge_status: string }[];
}

describe("npm run demo", () => {
  it("runs a night of two entries in a folder of its own and says where everything is", () => {
    const home = tempDir();
    const server = findLlamaServer();
    const demo = spawnSync(process.execPath, ["scripts/demo.ts", "--json"], {
      cwd: PROJECT_ROOT,
      encoding: "utf8",
      env: {
        ...process.env,
        // A person's own home: whatever the demo leaves there is found below. The embedded runner
        // is the one thing that may lie there, once for all of a user's stations.
        HOME: server === undefined ? process.env["HOME"] : home,
        XDG_CONFIG_HOME: undefined,
        XDG_STATE_HOME: undefined,
        ...(server === undefined ? {} : { TOUCHSTONED_TEST_LLAMA_SERVER: server }),
      },
    });
    expect(demo.status, `what it said: ${demo.stderr}`).toBe(0);
    const report = JSON.parse(demo.stdout) as DemoReport;
    onTestFinished(() => rmSync(report.folder, { recursive: true, force: true }));

    expect(report.entries).toMatchObject([
      { status: "ok", eval_status: "ok", judge_status: "skipped" },
      { status: "ok", eval_status: "ok", judge_status: "ok" },
    ]);
    expect(readFileSync(report.summary, "utf8")).toContain("2 of 2 ok");
    for (const bundle of report.bundles) {
      expect(existsSync(join(bundle, "bundle.json"))).toBe(true);
      expect(existsSync(join(bundle, "scorecard.md"))).toBe(true);
    }
    expect(existsSync(join(report.bundles[1] ?? "", "scores.csv"))).toBe(true);
    // What a person sees: the progress, the outcome, and what the made model is.
    expect(demo.stderr).toContain("2/2 made-2: judge ok");
    expect(demo.stderr).toContain("nonsense");
    expect(demo.stderr).toContain(report.folder);
    for (const place of [".config/touchstoned", ".local/state/touchstoned"]) {
      expect(existsSync(join(home, place)), `${place} in a person's home`).toBe(false);
    }
  });
});
