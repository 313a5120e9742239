import { describe, expect, test } from "vitest";
import { world } from "./world.ts";

const entry = (model: string, more: Record<string, unknown> = {}) => ({
  model,
  pack: "p",
  runner: "a",
  ...more,
});

describe("runners of our own", () => {
  test("are started anew for each entry, whose first answer else came out of the last one's cache", async () => {
    const w = world();
    w.own = ["a", "b"];
    w.write([entry("x"), entry("y"), entry("z", { runner: "b" })]);
    await w.run();
    expect(w.log.filter((line) => /^(start|stop)/.test(line))).toEqual([
      "start a",
      "stop a",
      "start a",
      "stop a",
      "start b",
      "stop b",
    ]);
    // Their logs grow while steps run.
    expect(w.trims).toBeGreaterThan(0);
  });

  test("one that died is the cause of its entry's failure and no matter to the next", async () => {
    const w = world();
    w.own = ["a"];
    w.write([entry("x"), entry("y")]);
    w.plays["eval x"] = ["hang"];
    w.onStep = (name) => {
      if (name === "eval x @a")
        w.endOwn?.({ exit_code: null, signal: "SIGKILL", spawn_error: null });
    };
    const { summary } = await w.run();
    expect(summary.entries[0]?.error).toContain("the runner had ended (SIGKILL)");
    expect(summary.entries[1]).toMatchObject({ status: "ok", warnings: [] });
  });

  test("one that died after the eval is started anew for the judge, and the row says so", async () => {
    const w = world();
    w.own = ["a"];
    w.judge = { runner: "a", model: "x" };
    w.write([entry("x", { judge_config: "j" })]);
    w.onStep = (name) => {
      if (name === "eval x @a")
        w.endOwn?.({ exit_code: null, signal: "SIGKILL", spawn_error: null });
    };
    const { summary } = await w.run();
    expect(summary.entries[0]).toMatchObject({
      status: "ok",
      warnings: ["the runner a had ended (SIGKILL); it was started anew"],
    });
  });
});
