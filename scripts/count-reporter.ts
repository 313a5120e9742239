import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/**
 * Ends a test run with one line that a script can read, `12 passed, 0 failed, 1 skipped`, and the
 * names of what was skipped above it. Sets a failing exit status where nothing ran, and, with
 * TOUCHSTONED_NO_SKIPS=1, where something was skipped that this platform could have run.
 */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string): TestCase[] =>
      tests.filter((test) => test.result().state === state);
    const [passed, failed, skipped] = [inState("passed"), inState("failed"), inState("skipped")];
    // A file that could not be loaded has no tests to count, but is a failure all the same.
    const broken = modules.filter((module) => module.errors().length > 0);
    for (const test of skipped) console.log(`skipped: ${nameOf(test)}`);
    for (const test of passed) {
      // One try more hides nothing: whoever reads the log is to look into it.
      if (test.diagnostic()?.flaky === true) console.log(`FLAKY, passed again: ${nameOf(test)}`);
    }
    const unexcused = skipped.filter((test) => !isExcused(nameOf(test), process.platform));
    if (process.env["TOUCHSTONED_NO_SKIPS"] === "1" && unexcused.length > 0) {
      console.log(`${unexcused.length} skipped tests should have run here`);
      process.exitCode = 1;
    }
    if (passed.length + failed.length === 0) {
      console.log("no test ran at all");
      process.exitCode = 1;
    }
    const reminder = process.env["TOUCHSTONED_TEST_REMINDER"] ?? "";
    if (reminder !== "") console.log(`!! ${reminder}`);
    const counts = [passed.length, failed.length + broken.length, skipped.length] as const;
    const file = process.env["TOUCHSTONED_COUNT_FILE"] ?? "";
    if (file !== "") appendFileSync(file, `${JSON.stringify(counts)}\n`);
    console.log(countLine(...counts));
  }
}

/** The sum of what several runs of tests have left in the file that TOUCHSTONED_COUNT_FILE names. */
export function countedIn(file: string): [passed: number, failed: number, skipped: number] {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  const runs = lines.map((line) => JSON.parse(line) as readonly number[]);
  const sum = (at: number): number => runs.reduce((total, run) => total + (run[at] ?? 0), 0);
  return [sum(0), sum(1), sum(2)];
}

export function countLine(passed: number, failed: number, skipped: number): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

/** Where a test can only run on another system, its name says so: "(macOS)", "(Linux)". */
export function isExcused(name: string, platform: string): boolean {
  const only = /\((macOS|Linux)\)/.exec(name)?.[1];
  if (only === undefined) return false;
  return platform !== (only === "macOS" ? "darwin" : "linux");
}
