import { describe, expect, it } from "vitest";
import { countLine, isExcused } from "../../../scripts/count-reporter.ts";

describe("the count of tests", () => {
  it("is one line that a script can read", () => {
    expect(countLine(12, 0, 1)).toBe("12 passed, 0 failed, 1 skipped");
  });

  it("excuses a skipped test only where its name asks for another system", () => {
    expect(isExcused("probes > reads vm_stat (macOS)", "linux")).toBe(true);
    expect(isExcused("probes > reads vm_stat (macOS)", "darwin")).toBe(false);
    expect(isExcused("probes > reads meminfo (Linux)", "darwin")).toBe(true);
    expect(isExcused("probes > reads meminfo (Linux)", "linux")).toBe(false);
    expect(isExcused("runners > a stream that is cut", "linux")).toBe(false);
  });
});
