import { chmodSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Configuration, type Opening } from "../../../src/daemon/configuration.ts";
import { errorMessage } from "../../../src/core/errors.ts";
import { openStation } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";

const runner = (name: string) => `  - { name: ${name}, kind: openai, url: "http://127.0.0.1:9" }\n`;

async function running() {
  const machine = (names: string[], trusted = "ROOT") =>
    `trusted_stations: ["${trusted}"]\nrunners:\n${names.map(runner).join("")}`;
  const made = testStation({ policy: "schema_version: 1\n", machine: machine(["a"]) });
  const { root, env } = made;
  const station = await openStation({ explicit: root, env, cwd: root });
  const open = async (explicit: string): Promise<Opening> => {
    try {
      return { ok: true, station: await openStation({ explicit, env, cwd: "/" }) };
    } catch (error) {
      return { ok: false, reason: errorMessage(error) };
    }
  };
  const write = (text: string) => writeFileSync(made.machine_path, text.replaceAll("ROOT", root));
  const configuration = new Configuration(station, env, open);
  return { ...made, station, machine, write, configuration };
}

test("a runner that is added can be named from the next look on", async () => {
  const { station, machine, write, configuration } = await running();
  expect(await configuration.refresh()).toEqual([]);
  write(machine(["a", "b"]));
  expect(await configuration.refresh()).toEqual(["the configuration was changed: read again"]);
  expect(station.settings.runner_names).toEqual(["a", "b"]);
  expect(station.machine.runners.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(await configuration.refresh()).toEqual([]);
});

test("trust that was taken away: nothing new begins, until it is given again", async () => {
  const { machine, write, configuration } = await running();
  write(machine(["a"], "/elsewhere"));
  expect((await configuration.refresh()).join()).toContain("not trusted any more");
  expect(configuration.fault).toContain("is not among the trusted_stations");
  expect(await configuration.refresh()).toEqual([]);
  write(machine(["a"]));
  await configuration.refresh();
  expect(configuration.fault).toBeNull();
});

test("a faulty file: the last good one stays, nothing new begins, and it is said once", async () => {
  const { station, machine, machine_path, write, configuration } = await running();
  write("runers: []\n");
  expect((await configuration.refresh()).join()).toMatch(/has faults.*runers/s);
  expect(await configuration.refresh()).toEqual([]);
  expect(station.settings.runner_names).toEqual(["a"]);
  write(machine(["b"]));
  chmodSync(machine_path, 0o666);
  expect((await configuration.refresh()).join()).toContain("chmod");
  chmodSync(machine_path, 0o600);
  await configuration.refresh();
  expect([configuration.fault, station.settings.runner_names]).toEqual([null, ["b"]]);
});
