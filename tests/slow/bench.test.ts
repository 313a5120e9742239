import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../helpers/project-files.ts";

describe("npm run bench -- --json", () => {
  it("prints one JSON document with a row a measure, and what it ran on", () => {
    const run = spawnSync(process.execPath, [join(PROJECT_ROOT, "bench/run.ts"), "--json"], {
      encoding: "utf8",
    });
    expect(run.status).toBe(0);
    const { machine, measures } = JSON.parse(run.stdout) as {
      machine: object;
      measures: { name: string; met: boolean | null }[];
    };
    expect(machine).toMatchObject({ cores: expect.any(Number), node: process.versions.node });
    const store = ["10", "1,000", "10,000"].flatMap((waiting) =>
      ["claims", "accepts"].flatMap((what) =>
        [
          `${what} to plain SQLite, ${waiting} waiting`,
          `${what} to those with 10, ${waiting} waiting`,
        ].slice(0, waiting === "10" ? 1 : 2),
      ),
    );
    expect(measures.map(({ name }) => name)).toEqual([
      "version_start_ratio",
      "help_start_ratio",
      "status_start_ratio",
      "client_cpu_share_64_streams",
      "client_receive_lag_p99",
      "sampler_cpu_share",
      ...store,
      "ripe_to_step_p50",
      "recovery_10000_waiting",
      "idle_cpu_share",
      "idle_rss_ratio",
      "idle_rss_ratio_after_job",
      "idle_rss_growth",
    ]);
    for (const row of measures) {
      expect(row).toMatchObject({
        value: expect.any(Number),
        unit: expect.any(String),
        goal: expect.stringMatching(/^(?:<|>=) [\d.]+$/),
        met: expect.any(Boolean),
      });
    }
  });
});
