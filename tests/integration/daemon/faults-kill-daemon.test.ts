import { expect, test } from "vitest";
import { testSeed } from "../../helpers/seeded.ts";
import { Killing, killStation, twoEntries } from "./kills.ts";

test("kill -9 of the daemon at 30 random moments of queue files of two entries", async () => {
  const report = await Killing.run(await killStation(), {
    victim: "daemon",
    kills: 30,
    kills_per_file: 3,
    seed: testSeed(),
    entries: twoEntries,
  });
  console.error(`[tests] ${report.files} files, killed while: ${JSON.stringify(report.phases)}`);
  expect(report.jobs.length).toBe(2 * report.files);
  expect(Object.keys(report.phases).length).toBeGreaterThanOrEqual(4);
}, 1_200_000);
