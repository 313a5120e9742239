import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modelSpecSchema } from "../../../src/core/model-spec.ts";
import {
  bundleState,
  evalStepFault,
  loadStepFault,
  readResponses,
} from "../../../src/eval/index.ts";
import { parsePack } from "../../../src/eval/pack-file.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { answer, config, events, failed, failingFor, FakeRunner, PACK, run } from "./fakes.ts";

/** A bundle with two answers, stopped by the breaker. */
async function begun() {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  runner.reply = (_request, n) => (n < 2 ? answer() : failed("unreachable"));
  await run(dir, runner);
  return { dir, runner };
}

describe("what a bundle refuses", () => {
  test("a second run without --resume", async () => {
    const { dir, runner } = await begun();
    await expect(run(dir, runner)).rejects.toMatchObject({ code: "bundle_exists" });
  });

  test.each([
    ["model", { model: modelSpecSchema.parse({ id: "m", extra_body: { think: true } }) }],
    ["pack", { pack: parsePack(`${PACK}\n# edited\n`, "pack.yaml") }],
    ["cold_cache", { config: config("cold_cache: true") }],
  ])("another %s", async (what, changes) => {
    const { dir, runner } = await begun();
    await expect(run(dir, runner, { resume: true, ...changes })).rejects.toMatchObject({
      code: "manifest_mismatch",
      message: expect.stringContaining(`${what}: the bundle has`) as string,
    });
  });

  test("another runner, another version of it, other weights under the same name", async () => {
    const { dir, runner } = await begun();
    const other = new FakeRunner();
    const [served] = runner.statusNow.models ?? [];
    if (served === undefined) throw new Error("the fake serves a model");
    Object.assign(other.settings, { name: "other", kind: "ollama" });
    other.statusNow = {
      ...runner.statusNow,
      version: "2.0",
      models: [{ ...served, digest: "def", size_bytes: 9, quantization: "Q2", context_length: 8 }],
    };
    const refused: unknown = await run(dir, other, { resume: true }).catch(
      (error: unknown) => error,
    );
    const { message } = refused as Error;
    const runnerParts = ["runner name", "runner kind", "runner version"];
    const modelParts = ["digest", "size_bytes", "quantization", "context_length"];
    for (const part of [...runnerParts, ...modelParts.map((key) => `model ${key}`)]) {
      expect(message).toContain(`${part}: the bundle has`);
    }
  });

  test("a pack copy that was edited, answers without a manifest", async () => {
    const { dir, runner } = await begun();
    appendFileSync(join(dir, "pack.yaml"), "# hm\n");
    await expect(run(dir, runner, { resume: true })).rejects.toThrow(/pack.yaml in the bundle/);
    rmSync(join(dir, "manifest.json"));
    await expect(run(dir, runner, { resume: true })).rejects.toMatchObject({ code: "no_manifest" });
  });

  test("a runner that cannot be asked proves no difference; other limits are no other thing", async () => {
    const { dir, runner } = await begun();
    runner.statusNow = { ...runner.statusNow, version: null, models: null };
    runner.reply = () => answer();
    const outcome = await run(dir, runner, {
      resume: true,
      config: config("request_limits: { stall_s: 9 }"),
    });
    expect(outcome.exit_code).toBe(0);
    expect(runner.requests.at(-1)?.limits.stall_s).toBe(9);
  });
});

test("a resumed run takes the mark of a finished bundle away first", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  runner.reply = failingFor("Say more.", "stream_cut");
  await run(dir, runner);
  expect(existsSync(join(dir, "bundle.json"))).toBe(true);
  runner.reply = () => {
    expect(existsSync(join(dir, "bundle.json"))).toBe(false);
    return answer();
  };
  await run(dir, runner, { resume: true });
  expect(existsSync(join(dir, "bundle.json"))).toBe(true);
});

test("resuming a whole bundle asks nothing and changes nothing", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  const first = await run(dir, runner);
  const judged = JSON.stringify({
    ...(JSON.parse(readFileSync(join(dir, "bundle.json"), "utf8")) as object),
    judge: { model: "j" },
  });
  writeFileSync(join(dir, "bundle.json"), judged);
  runner.reply = () => {
    throw new Error("asked although everything is there");
  };
  const again = await run(dir, runner, { resume: true });
  expect(again).toMatchObject({ exit_code: 0, cells_total: first.cells_total, error: null });
  expect(readFileSync(join(dir, "bundle.json"), "utf8")).toBe(judged);
});

test("progress lines come from the runner, at most one in 30 s", async () => {
  const [dir, runner, clock] = [tempDir(), new FakeRunner(), new FakeClock()];
  runner.reply = (request, n) => {
    if (n > 0) return answer();
    for (let second = 0; second < 100; second += 5) {
      clock.advance(5000);
      request.onProgress?.({ bytes: second, phase: "prefill", prompt_share: second / 100 });
    }
    // Silence: nothing may be written for it.
    clock.advance(300_000);
    return answer();
  };
  await run(dir, runner, { clock });
  const progress = events(dir).filter((event) => event.type === "progress");
  expect(progress.map((event) => event["bytes"])).toEqual([25, 55, 85]);
  expect(progress[0]).toMatchObject({ model: "m", prompt_id: "a1", repeat: 0, phase: "prefill" });
});

test("resources of earlier invocations are joined as well", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  let at_s = 1000;
  const timed = () => {
    at_s += 100;
    const ts = at_s + 1;
    appendFileSync(
      join(dir, "resources.jsonl"),
      `${JSON.stringify({ ts, sys_used_mb: at_s, swap_used_mb: 0, throttled: false })}\n`,
    );
    return answer({
      timing: { ...answer().timing, started_at_ms: at_s * 1000, ended_at_ms: at_s * 1000 + 3000 },
    });
  };
  runner.reply = (_request, n) => (n < 2 ? timed() : failed("unreachable"));
  await run(dir, runner);
  runner.reply = timed;
  await run(dir, runner, { resume: true });
  expect(readResponses(dir).map((r) => r.sys_used_mb)).toEqual([
    1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800,
  ]);
  expect(readResponses(dir)[0]).toMatchObject({ sys_used_delta_mb: 100, throttled: false });
});

test("bundle.json has the keys that existing readers look for", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  await run(dir, runner, {
    model: modelSpecSchema.parse({ id: "m", quant: "Q8", extra_body: { a: 1 } }),
  });
  const bundle: unknown = JSON.parse(readFileSync(join(dir, "bundle.json"), "utf8"));
  expect(bundle).toMatchObject({
    pack_id: "p",
    pack_version: 3,
    pack_path: "pack.yaml",
    models: [{ id: "m", quant: "Q8", extra_body: { a: 1 } }],
    variants: ["none", "terse"],
    host: { chip: "Test Chip", ram_gb: "16.0 GB" },
    sampling: { temperature: 0.5, seed: 7 },
    complete: true,
  });
  expect(Object.keys((bundle as { files: object }).files)).toContain("responses.jsonl");
});

test("a changed file or an old one is no whole bundle of this step", async () => {
  const [dir, runner] = [tempDir(), new FakeRunner()];
  expect(bundleState(dir).state).toBe("absent");
  await run(dir, runner);
  expect(evalStepFault(dir, Date.now() + 60_000)).toContain("older");
  expect(loadStepFault(dir, Date.now() + 60_000)).toContain("older");
  appendFileSync(join(dir, "responses.jsonl"), "{}\n");
  expect(bundleState(dir)).toMatchObject({
    state: "damaged",
    reason: "responses.jsonl is not what was recorded",
  });
  rmSync(join(dir, "responses.jsonl"));
  expect(bundleState(dir).reason).toBe("responses.jsonl is gone");
  writeFileSync(join(dir, "bundle.json"), "{");
  expect(bundleState(dir).state).toBe("damaged");
});

test("the bundle's directory is made where it is not there", async () => {
  const dir = join(tempDir(), "a", "b");
  expect((await run(dir, new FakeRunner())).exit_code).toBe(0);
});
