import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { waitFor as waitUntil } from "../../helpers/wait.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

const HOUR_MS = 3_600_000;
const POLICY = "schema_version: 1\ninbox:\n  min_age_seconds: 1\n";

function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
) {
  return waitUntil(what, look, LIMIT_MS);
}

/** A pattern of all minutes of the day but this hour's and the next one's. */
function notNow(): string {
  const hour = new Date().getHours();
  const away = Array.from({ length: 20 }, (_, n) => (hour + 2 + n) % 24);
  return `* ${away.sort((a, b) => a - b).join(",")} * * *`;
}

test("a file that is dropped outside of the window waits for it, and status says so", async () => {
  const station = await DaemonStation.make();
  station.night.write("touchstoned.yaml", `${POLICY}queue:\n  window: "${notNow()}"\n`);
  const daemon = await station.daemon();
  station.drop("night.json");
  await waitFor("the reason", async () => (await station.status()).why_idle?.includes("window"));
  const { why_idle } = await station.status();
  expect(why_idle).toMatch(/^1 job waits for the window, which opens at \S+Z \(\d\d:00 here\)$/);
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", fence: 0 }]);
  // Its owner changes their mind.
  station.night.write("touchstoned.yaml", POLICY);
  daemon.child.kill("SIGHUP");
  await station.waitPlaced("done");
  await station.stop(daemon);
});

test("a job that runs is not stopped when the window closes; the next one waits", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const daemon = await station.daemon();
  station.drop("two.json", [{}, { model: { id: "fake", quant: "b" } }]);
  await waitFor("a request", () => station.gate.asked > 0);
  station.night.write("touchstoned.yaml", `${POLICY}queue:\n  window: "${notNow()}"\n`);
  daemon.child.kill("SIGHUP");
  await waitFor("the new configuration", () =>
    daemon.output().stderr.includes("the configuration was changed"),
  );
  station.gate.open();
  await waitFor("the first job's end", async () =>
    (await station.jobs()).some(({ state }) => state === "COMPLETE"),
  );
  await waitFor("the reason", async () => (await station.status()).why_idle?.includes("window"));
  expect((await station.jobs()).map(({ state }) => state).sort()).toEqual(["COMPLETE", "PENDING"]);
  await station.stop(daemon);
});

test("a pattern that fits no minute is a bad configuration, with its line", async () => {
  const station = await DaemonStation.make();
  station.night.write("touchstoned.yaml", `${POLICY}queue:\n  window: 0 0 31 2 *\n`);
  const refused = await station.night.run("daemon");
  expect(refused.exit_code).toBe(78);
  expect(refused.stderr).toContain("touchstoned.yaml:5:11: queue.window:");
  const checked = await station.night.run("config", "check");
  expect([checked.exit_code, checked.stdout + checked.stderr]).toEqual([
    78,
    expect.stringContaining("fits no minute"),
  ]);
});

test("a scheduled file that was missed is dropped once, run, and not again after a restart", async () => {
  const station = await DaemonStation.make();
  const entries = [{ model: "fake", pack: "pack.json" }];
  station.night.write("nightly.json", { entries });
  const at = "0 * * * *";
  const schedule = `schedule:\n  - name: hourly\n    at: ${at}\n    file: nightly.json\n`;
  station.night.write("touchstoned.yaml", POLICY + schedule);
  const first = await station.daemon();
  await waitFor("the schedule", async () => (await station.status()).schedule.length === 1);
  expect((await station.status()).schedule).toMatchObject([{ name: "hourly", trouble: null }]);
  await station.stop(first);
  expect(station.placed("done")).toEqual([]);
  const path = join(station.state_dir, "schedule.json");
  const state = JSON.parse(readFileSync(path, "utf8"));
  expect(state.entries.hourly).toMatchObject({ at, dropping: null });
  // The machine was off for two hours.
  state.entries.hourly.until_ms -= 2 * HOUR_MS;
  writeFileSync(path, JSON.stringify(state));
  const second = await station.daemon();
  const [name = ""] = await station.waitPlaced("done");
  expect(name).toMatch(/-hourly\.json$/);
  expect(second.output().stderr).toContain("was dropped into the inbox as hourly.json, caught up");
  await station.stop(second);
  const third = await station.daemon();
  await waitFor("the schedule", async () => (await station.status()).schedule.length === 1);
  expect(third.output().stderr).not.toContain("was dropped");
  expect(await station.violations()).toEqual([]);
  await station.stop(third);
});
