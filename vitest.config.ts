import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { CountReporter } from "./scripts/count-reporter.ts";

export default defineConfig({
  test: {
    // The real command is started hundreds of times, each time from a home folder of its own.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL(".cache/compiled", import.meta.url)) },
    restoreMocks: true,
    unstubEnvs: true,
    reporters: ["default", new CountReporter()],
    // Two cores: more workers than that only make the real servers in the tests crawl.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["tests/unit/**/*.test.ts"],
          // For what hangs: some start a process, and the machine may be busy with others.
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: ["tests/integration/**/*.test.ts"],
          // Real servers on a machine that others use too: one more try in CI, said in the report.
          retry: process.env["CI"] === undefined ? 0 : 1,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "slow",
          include: ["tests/slow/**/*.test.ts"],
          testTimeout: 1_800_000,
          hookTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["tests/system/**/*.test.ts"],
          globalSetup: "tests/system/harness/global-setup.ts",
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
