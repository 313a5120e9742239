import { readFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { pathWithoutNotify, standInNotify } from "../../helpers/service-manager.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor as waitUntil } from "../../helpers/wait.ts";
import { processesWith } from "../steps/setting.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
) {
  return waitUntil(what, look, LIMIT_MS);
}

test("a service manager hears that it is ready, what it does, that it lives, and that it stops", async () => {
  const station = await DaemonStation.make();
  const notes = standInNotify(tempDir(), 3000);
  Object.assign(station.night.env, notes.env);
  const heard = (part: string) => notes.read().filter((line) => line.includes(part));
  const daemon = await station.daemon();
  await waitFor("readiness", () => heard("READY=1").length > 0);
  expect(notes.read()[0]).toBe(`${notes.env["NOTIFY_SOCKET"]}|READY=1|STATUS=idle|WATCHDOG=1`);
  // Nothing happens, and it is heard all the same: within half of the manager's patience.
  await waitFor("signs of life", () => heard("WATCHDOG=1").length >= 3);
  station.gate.shut();
  station.drop("night.json");
  await waitFor("a job in words", () => heard("STATUS=fake (job ").length > 0);
  await waitFor("a request", () => station.gate.asked > 0);
  // No child may speak for the daemon.
  const environments = processesWith(station.night.home)
    .map((pid) => readFileSync(`/proc/${pid}/environ`, "utf8"))
    .filter((env) => env.includes("TOUCHSTONED_LOCK_FD"));
  expect(environments.length).toBeGreaterThan(0);
  expect(environments.filter((env) => env.includes("NOTIFY_SOCKET"))).toEqual([]);
  station.gate.open();
  await station.waitPlaced("done");
  await station.stop(daemon);
  expect(heard("STOPPING=1")[0]).toContain("STATUS=stopping");
  expect(heard("READY=1")).toHaveLength(1);
});

test("a daemon that is stopped by a signal from outside says nothing more", async () => {
  const station = await DaemonStation.make();
  const notes = standInNotify(tempDir(), 1000);
  Object.assign(station.night.env, notes.env);
  const daemon = await station.daemon();
  await waitFor("signs of life", () => notes.read().length >= 3);
  const pid = daemon.child.pid ?? 0;
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void daemon.child.kill("SIGCONT"));
  // Whatever was on its way has arrived when another process has written as well.
  await waitFor("quiet", () => processesWith(notes.env["NOTIFY_SOCKET"] ?? "?").length === 0);
  const before = notes.read().length;
  expect((await station.status()).daemon.running).toBe(true);
  expect(notes.read()).toHaveLength(before);
  process.kill(pid, "SIGCONT");
  await waitFor("signs of life again", () => notes.read().length > before);
  await station.stop(daemon);
});

test("where systemd-notify is missing the daemon works, and says what to do", async () => {
  const station = await DaemonStation.make();
  const { PATH: _path, ...env } = standInNotify(tempDir(), 3000).env;
  Object.assign(station.night.env, env, { PATH: pathWithoutNotify(tempDir()) });
  const daemon = await station.daemon();
  await waitFor("the warning", () => daemon.output().stderr.includes("Type=exec"));
  station.drop("night.json");
  await station.waitPlaced("done");
  expect(daemon.output().stderr.match(/systemd-notify is not installed/g)).toHaveLength(1);
  await station.stop(daemon);
});

test("one stop, and a step that does not end: it is ended in time, and the job handed back", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const daemon = await station.daemon("--stop-within", "1");
  station.drop("night.json");
  await waitFor("a request", () => station.gate.asked > 0);
  daemon.child.kill("SIGTERM");
  expect((await daemon.finished).exit_code).toBe(0);
  expect(daemon.output().stderr).toContain("ending the running step");
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", attempt_count: 0 }]);
  expect(await station.violations()).toEqual([]);
  const wrong = await station.night.run("daemon", "--stop-within", "soon");
  expect([wrong.exit_code, wrong.stderr]).toEqual([2, expect.stringContaining("--stop-within")]);
});
