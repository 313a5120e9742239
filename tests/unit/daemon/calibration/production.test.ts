import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { planCalibration } from "../../../../src/daemon/calibration/plan.ts";
import {
  liveShape,
  makeRoom,
  neighboursOf,
  refuseCompany,
  refuseHidden,
  wasStopped,
} from "../../../../src/daemon/calibration/production.ts";
import { machineSchema } from "../../../../src/station/index.ts";
import { fakeLlamaServer } from "../../../helpers/fake-llama-server.ts";
import { fakeOllama } from "../../../helpers/fake-ollama.ts";
import { fakeOpenAi } from "../../../helpers/fake-openai.ts";
import { attach } from "../../../helpers/requests.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";
import { waitFor } from "../../../helpers/wait.ts";

const NOBODY = "http://127.0.0.1:9";

function setting(...runners: { name: string; kind: string; url: string }[]) {
  const machine = machineSchema.parse({ runners });
  const plan = planCalibration(machine, { runner: runners[0]?.name, model: "m" });
  return { plan, neighbours: neighboursOf(machine, null, systemClock) };
}

test("runners that are not there and an Ollama without a model are no company", async () => {
  const empty = await fakeOllama();
  const { plan, neighbours } = setting(
    { name: "house", kind: "ollama", url: empty.url },
    { name: "away", kind: "ollama", url: NOBODY },
    { name: "studio", kind: "openai", url: NOBODY },
  );
  await expect(refuseCompany(plan, neighbours)).resolves.toBeUndefined();
});

test("a llama-server holds its model as long as it lives, and a /v1 server does not tell", async () => {
  const llama = await fakeLlamaServer();
  const first = setting(
    { name: "house", kind: "ollama", url: NOBODY },
    { name: "llama", kind: "llama-server", url: llama.url },
  );
  await expect(refuseCompany(first.plan, first.neighbours)).rejects.toMatchObject({
    code: "not_alone",
    exitCode: 75,
    message: expect.stringContaining('runner "llama" holds fake'),
  });
  const openai = await fakeOpenAi();
  const second = setting(
    { name: "house", kind: "ollama", url: NOBODY },
    { name: "studio", kind: "openai", url: openai.url },
  );
  await expect(refuseCompany(second.plan, second.neighbours)).rejects.toMatchObject({
    code: "not_readable",
    message: expect.stringContaining('what runner "studio" holds cannot be read'),
  });
});

test("a fixed server is stopped by its owner's command, and trouble with starting it is told", async () => {
  const server = await fakeLlamaServer();
  const stopped = join(tempDir(), "stopped");
  const runner = {
    name: "r",
    kind: "llama-server",
    url: server.url,
    calibration: { model_file: "/m.gguf" },
    stop_command: `touch ${stopped}`,
    start_command: "false",
  };
  const plan = planCalibration(machineSchema.parse({ runners: [runner] }), {});
  const state_dir = tempDir();
  expect(wasStopped(state_dir, "r")).toBe(false);
  const [back] = await Promise.all([
    makeRoom(plan, systemClock, state_dir),
    waitFor("the command", () => existsSync(stopped)).then(() => server.close()),
  ]);
  expect(await back()).toContain("start_command failed");
  expect(wasStopped(state_dir, "r")).toBe(true);
});

test("a stop command that fails stops the calibration, and nothing is started again", async () => {
  const server = await fakeLlamaServer();
  const runner = {
    name: "r",
    kind: "llama-server",
    url: server.url,
    calibration: { model_file: "/m.gguf" },
    stop_command: "false",
    start_command: "true",
  };
  const plan = planCalibration(machineSchema.parse({ runners: [runner] }), {});
  await expect(makeRoom(plan, systemClock, tempDir())).rejects.toMatchObject({
    code: "stop_failed",
  });
});

test("nothing is stopped that is not there", async () => {
  const runner = {
    name: "r",
    kind: "llama-server",
    url: NOBODY,
    calibration: { model_file: "/m.gguf" },
    stop_command: "false",
    start_command: "false",
  };
  const plan = planCalibration(machineSchema.parse({ runners: [runner] }), {});
  const back = await makeRoom(plan, systemClock, tempDir());
  expect(await back()).toBeNull();
});

test("an attached server gives its own number of slots, and only while it is idle", async () => {
  const idle = await fakeLlamaServer({ slots: 3 });
  const settings = attach("llama-server", idle.url).settings;
  expect(await liveShape(settings, systemClock)).toEqual({ slots: 3, context: 1024 });
  const busy = await fakeLlamaServer({ slots: 3, busy: () => 2 });
  await expect(
    liveShape(attach("llama-server", busy.url).settings, systemClock),
  ).rejects.toMatchObject({ code: "production_busy", exitCode: 75 });
  const declared = attach("openai", NOBODY, { declared_slots: 4 }).settings;
  expect(await liveShape(declared, systemClock)).toEqual({ slots: 4, context: null });
  await expect(liveShape(attach("openai", NOBODY).settings, systemClock)).rejects.toMatchObject({
    code: "slots_unknown",
    exitCode: 3,
  });
});

test("a server inside a machine of its own is refused", async () => {
  const runner = Object.assign(attach("llama-server", NOBODY), { serverPid: async () => 7 });
  await expect(
    refuseHidden(runner, () => "/usr/bin/qemu-system-x86_64 -m 8G"),
  ).rejects.toMatchObject({ code: "hidden_runner", exitCode: 3 });
  await expect(refuseHidden(runner, () => "/opt/llama-server -m a.gguf")).resolves.toBeUndefined();
});
