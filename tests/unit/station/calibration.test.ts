import { expect, test } from "vitest";
import { calibrationSettings, machineSchema } from "../../../src/station/index.ts";

const OLLAMA = { name: "o", kind: "ollama", url: "http://127.0.0.1:11434" };
const LLAMA = { name: "l", kind: "llama-server", url: "http://127.0.0.1:8080" };
const OWN = {
  name: "own",
  kind: "llama-server",
  start: { model_file: "/m.gguf", args: ["-t", "2"] },
};

const settings = (runner: object) =>
  calibrationSettings(
    machineSchema.parse({ runners: [runner] }),
    (runner as { name: string }).name,
  );

const NOTHING = {
  binary: null,
  model_file: null,
  models_dir: null,
  args: [],
  env: {},
  context_length: 4096,
  calibrate_production: false,
  stop_command: null,
  start_command: null,
};

test("Ollama can be started without a word about it, another server cannot", () => {
  expect(settings(OLLAMA)).toEqual({ ...NOTHING, startable: true, binary: "ollama" });
  expect(settings(LLAMA)).toEqual({ ...NOTHING, startable: false, binary: "llama-server" });
  const vllm = { ...LLAMA, name: "v", kind: "openai", calibrate_production: true };
  expect(settings(vllm)).toMatchObject({ startable: false, calibrate_production: true });
});

test("a runner of ours is measured as it is started", () => {
  const start = { ...OWN.start, binary: "/opt/llama-server", context_length: 8192 };
  expect(settings({ ...OWN, start })).toEqual({
    ...NOTHING,
    startable: true,
    binary: "/opt/llama-server",
    model_file: "/m.gguf",
    args: ["-t", "2"],
    context_length: 8192,
  });
  const embedded = { name: "e", kind: "embedded", start: { model_file: "/m.gguf" } };
  expect(settings(embedded)).toMatchObject({ startable: true, binary: null });
});

test("what calibration says goes before start, arguments as a whole", () => {
  const calibration = {
    binary: "llama-server-cuda",
    args: [],
    context_length: 512,
    env: { A: "1" },
  };
  expect(settings({ ...OWN, calibration })).toMatchObject({
    binary: "llama-server-cuda",
    model_file: "/m.gguf",
    args: [],
    context_length: 512,
    env: { A: "1" },
  });
});

test.each([
  [{ ...LLAMA, calibration: {} }, "needs a model_file"],
  [
    { ...LLAMA, kind: "openai", calibration: { model_file: "/m" } },
    "is not started by this program",
  ],
  [{ ...OLLAMA, calibration: { model_file: "/m" } }, "goes by the model's name"],
  [{ ...OLLAMA, calibration: { args: ["-v"] } }, "takes none"],
  [{ ...OWN, calibration: { models_dir: "/m" } }, "is for Ollama"],
  [{ ...OLLAMA, calibration: { binary: "./ollama" } }, "must be an absolute path"],
  [{ ...OLLAMA, calibration: { env: { OLLAMA_HOST: "0.0.0.0" } } }, "is set by touchstoned itself"],
  [{ ...OLLAMA, calibration: { env: { "A B": "x" } } }, "is no name of a variable"],
  [{ ...OWN, calibration: { args: ["--parallel=4"] } }, "--parallel is set by touchstoned"],
  [{ ...LLAMA, stop_command: "systemctl stop llama" }, "needs start_command, too"],
  [{ ...LLAMA, start_command: "systemctl start llama" }, "needs stop_command, too"],
  [{ ...LLAMA, stop_command: "a 'b", start_command: "c" }, "is never closed"],
])("%j: %s", (runner, message) => {
  const parsed = machineSchema.safeParse({ runners: [runner] });
  expect(parsed.error?.issues.map((issue) => issue.message).join("; ") ?? "").toContain(message);
});

test("commands and attached mode are for the owner of the machine to allow", () => {
  const runner = {
    ...LLAMA,
    stop_command: "systemctl --user stop llama",
    start_command: "systemctl --user start llama",
    calibrate_production: true,
  };
  expect(settings(runner)).toMatchObject({
    calibrate_production: true,
    stop_command: "systemctl --user stop llama",
    start_command: "systemctl --user start llama",
  });
});
