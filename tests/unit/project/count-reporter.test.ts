import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDir } from "../../helpers/temp-dir.ts";
import { countedIn, countLine, isExcused } from "../../../scripts/count-reporter.ts";

describe("the count of tests", () => {
  it("is one line that a script can read", () => {
    expect(countLine(12, 0, 1)).toBe("12 passed, 0 failed, 1 skipped");
  });

  it("is the sum where several runs were counted in one file, and nothing where none was", () => {
    const file = join(tempDir(), "counts");
    expect(countedIn(file)).toEqual([0, 0, 0]);
    writeFileSync(file, "[1204,0,2]\n[30,1,0]\n");
    expect(countedIn(file)).toEqual([1234, 1, 2]);
  });

  it("excuses a skipped test only where its name asks for another system", () => {
    expect(isExcused("probes > reads vm_stat (macOS)", "linux")).toBe(true);
    expect(isExcused("probes > reads vm_stat (macOS)", "darwin")).toBe(false);
    expect(isExcused("probes > reads meminfo (Linux)", "darwin")).toBe(true);
    expect(isExcused("probes > reads meminfo (Linux)", "linux")).toBe(false);
    expect(isExcused("runners > a stream that is cut", "linux")).toBe(false);
  });
});
