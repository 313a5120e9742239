import { describe, expect, it } from "vitest";
import {
  jobLimitsSchema,
  jobSettingsSchema,
  mergeJobSettings,
  overLimit,
  partialJobSettingsSchema,
  resetCommandAllowed,
  RUNNER_RESET_COMMANDS,
} from "../../../src/core/job-settings.ts";

describe("mergeJobSettings", () => {
  it("gives the documented defaults where nobody said anything", () => {
    expect(mergeJobSettings([])).toEqual({
      settle: { timeout_s: 120, plateau_polls: 3, poll_interval_s: 2, epsilon_mb: 200 },
      step_timeout_s: { load: 3600, eval: 14_400, judge: 21_600 },
      idle_timeout_s: { eval: 1800, judge: 1800 },
      cooldown_s: 0,
    });
  });

  it("merges key by key, later layers over earlier ones", () => {
    const merged = mergeJobSettings([
      { settle: { timeout_s: 60, epsilon_mb: 50 }, runner: "a", cooldown_s: 5 },
      { settle: { timeout_s: 30 } },
      { step_timeout_s: { eval: 100 }, runner: "b", reset_command: "" },
    ]);
    expect(merged.settle).toEqual({
      timeout_s: 30,
      plateau_polls: 3,
      poll_interval_s: 2,
      epsilon_mb: 50,
    });
    expect(merged.step_timeout_s).toEqual({ load: 3600, eval: 100, judge: 21_600 });
    expect(merged).toMatchObject({ runner: "b", reset_command: "", cooldown_s: 5 });
  });

  it("takes a key that is present but undefined for absent", () => {
    const merged = mergeJobSettings([{ runner: "a" }, { runner: undefined, settle: undefined }]);
    expect(merged.runner).toBe("a");
    expect(merged.settle.timeout_s).toBe(120);
  });

  it("lowers a built-in default to the limit, and leaves what a layer says to overLimit", () => {
    const limits = jobLimitsSchema.parse({ step_timeout_s: { eval: 600 } });
    expect(mergeJobSettings([], limits).step_timeout_s.eval).toBe(600);
    const layer = { step_timeout_s: { eval: 700, load: 10 } };
    expect(overLimit(layer, limits)).toEqual([
      { path: ["step_timeout_s", "eval"], value: 700, limit: 600 },
    ]);
    expect(mergeJobSettings([layer], limits).step_timeout_s.eval).toBe(700);
  });

  it("has default limits that allow every default setting", () => {
    expect(overLimit(jobSettingsSchema.parse({}), jobLimitsSchema.parse({}))).toEqual([]);
  });
});

describe("partialJobSettingsSchema", () => {
  it("fills nothing in", () => {
    expect(partialJobSettingsSchema.parse({ settle: { epsilon_mb: 1 } })).toEqual({
      settle: { epsilon_mb: 1 },
    });
  });

  it("knows the same keys as the full schema", () => {
    const full = jobSettingsSchema.parse({});
    expect(partialJobSettingsSchema.parse(full)).toEqual(full);
    expect(Object.keys(partialJobSettingsSchema.shape)).toEqual(
      Object.keys(jobSettingsSchema.shape),
    );
  });

  it.each([
    ["a timer beyond what Node can count", { step_timeout_s: { eval: 3_000_000 } }],
    ["a limit of zero", { idle_timeout_s: { eval: 0 } }],
    ["a plateau of one look, which is always flat", { settle: { plateau_polls: 1 } }],
    ["a pause into the past", { cooldown_s: -1 }],
    ["an unknown step", { step_timeout_s: { evall: 5 } }],
  ])("refuses %s", (_, value) => {
    expect(partialJobSettingsSchema.safeParse(value).success).toBe(false);
  });
});

describe("resetCommandAllowed", () => {
  const allowed = [...RUNNER_RESET_COMMANDS, "systemctl --user restart MODEL-runner"];
  it.each([
    ["", true],
    ["lms unload --all", true],
    ["  lms   unload --all ", true],
    ["ollama stop qwen3:8b", true],
    ["systemctl --user restart MODEL-runner", true],
    ["ollama stop", false],
    ["ollama stop a b", false],
    ["ollama stop --help", false],
    ["ollama rm qwen3:8b", false],
    ["MODEL stop x", false],
    ["lms unload --all; rm -rf /", false],
    ["/repo/ollama stop x", false],
  ])("%j: %s", (command, wanted) => {
    expect(resetCommandAllowed(command, allowed)).toBe(wanted);
  });
});
