import { expect, test } from "vitest";
import { planCalibration } from "../../../../src/daemon/calibration/plan.ts";
import { machineSchema } from "../../../../src/station/index.ts";

const plan = (runner: object, wish: Parameters<typeof planCalibration>[1] = {}) =>
  planCalibration(machineSchema.parse({ runners: [{ name: "r", ...runner }] }), wish);

const OLLAMA = { kind: "ollama", url: "http://127.0.0.1:11434" };
const VLLM = { kind: "openai", url: "http://localhost:8000" };
const OWN = { kind: "llama-server", start: { model_file: "/models/a.gguf", context_length: 2048 } };

test("Ollama is measured on one of our own, with the model that is named", () => {
  expect(plan(OLLAMA, { model: "llama3.2", context_per_slot: 8192 })).toMatchObject({
    residency: "own_start",
    model: "llama3.2",
    context_per_slot: 8192,
    calibration: { binary: "ollama" },
  });
  expect(() => plan(OLLAMA)).toThrow(expect.objectContaining({ code: "usage" }));
});

test("a runner that we start serves its file under the file's name, and no other", () => {
  expect(plan(OWN)).toMatchObject({ model: "a", context_per_slot: 2048, residency: "own_start" });
  expect(plan(OWN, { model: "a" }).model).toBe("a");
  expect(() => plan(OWN, { model: "b" })).toThrow(/is measured with a, not with "b"/);
});

test("what cannot be started is measured itself only where its owner allows it", () => {
  expect(() => plan(VLLM, { model: "m" })).toThrow(
    expect.objectContaining({ code: "not_startable", exitCode: 3 }),
  );
  expect(plan({ ...VLLM, calibrate_production: true }, { model: "m" })).toMatchObject({
    residency: "attached",
    model: "m",
  });
  const llama = { kind: "llama-server", url: "http://127.0.0.1:8080" };
  expect(() => plan(llama, { model: "m" })).toThrow(/answer stays 1/);
  const beside = { ...llama, calibration: { model_file: "/m.gguf" }, calibrate_production: true };
  expect(plan(beside)).toMatchObject({ residency: "own_start", model: "m" });
});

test.each(["http://192.0.2.9:11434", "http://ollama.example.org"])("%s is another host", (url) => {
  expect(() => plan({ kind: "ollama", url }, { model: "m" })).toThrow(
    expect.objectContaining({
      code: "remote_runner",
      message: expect.stringContaining("whose memory and load cannot be seen from here"),
    }),
  );
});
