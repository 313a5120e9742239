import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { SHELL_LOCK } from "../../helpers/lock.ts";
import { waitFor as waitUntil } from "../../helpers/wait.ts";
import { ownRunner, processesWith } from "../steps/setting.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
) {
  return waitUntil(what, look, LIMIT_MS);
}

/** The child of a step that runs in this station. */
function stepPid(station: DaemonStation): number | undefined {
  return processesWith(station.night.home).find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes("_step");
    } catch {
      return false;
    }
  });
}

async function inEval(station: DaemonStation): Promise<number> {
  return waitFor("a request of the eval", async () => {
    if (station.gate.asked === 0) return undefined;
    const step = (await station.status()).running?.step;
    return step === "eval" ? stepPid(station) : undefined;
  });
}

test("a shell that holds the lock is waited for and named; nothing is claimed meanwhile", async () => {
  const station = await DaemonStation.make();
  const lock = station.night.env["TOUCHSTONED_LOCK"] ?? "";
  const [file = "", ...args] = SHELL_LOCK;
  const shell = spawn(file, [...args, lock, "sh", "-c", "echo held; exec sleep 1000"]);
  onTestFinished(() => void shell.kill("SIGKILL"));
  await once(shell.stdout, "data");
  const daemon = await station.daemon();
  station.drop("night.json");
  await waitFor(
    "the wait",
    async () => (await station.status()).daemon.phase === "waiting_for_lock",
  );
  expect((await station.status()).why_idle).toContain("waiting for the model lock, held by");
  expect((await station.jobs()).map(({ state, fence }) => [state, fence])).toEqual([
    ["PENDING", 0],
  ]);
  for (const pid of processesWith("sleep\u00001000")) process.kill(pid, "SIGKILL");
  shell.kill("SIGKILL");
  await station.waitPlaced("done");
  await station.stop(daemon);
});

test("kill -9 of the daemon in an eval: the step goes on, is adopted, and the job is done once", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const first = await station.daemon();
  station.drop("night.json");
  const pid = await inEval(station);
  first.child.kill("SIGKILL");
  await first.finished;
  // It holds the lock that it inherited.
  const lock = await station.night.run("lock", "status");
  expect(lock.stdout + lock.stderr).toContain(`a step of touchstoned (pid ${pid})`);
  expect((await station.status()).orphan).toMatchObject({ step: "eval", pid });
  const asked = station.gate.asked;
  const second = await station.daemon();
  expect((await station.status()).running?.model_id).toBe("fake");
  expect(stepPid(station)).toBe(pid);
  station.gate.open();
  await station.waitPlaced("done");
  expect(station.gate.asked).toBe(asked);
  const [job] = await station.jobs();
  expect(job).toMatchObject({ state: "COMPLETE", attempt_count: 0 });
  const shown = await station.json<{ history: { kind: string }[] }>("queue", "show", job?.id ?? "");
  expect(shown.history.map(({ kind }) => kind)).toEqual([
    "accept",
    "claim",
    "start",
    "adopt",
    "complete",
  ]);
  expect(await station.violations()).toEqual([]);
  await station.stop(second);
});

test("kill -9 of daemon and step: the job runs again and goes on where it was", async () => {
  const station = await DaemonStation.make({ prompts: 3 });
  const first = await station.daemon();
  station.gate.shut();
  station.drop("night.json");
  const pid = await inEval(station);
  first.child.kill("SIGKILL");
  process.kill(pid, "SIGKILL");
  await first.finished;
  const second = await station.daemon();
  station.gate.open();
  await station.waitPlaced("done");
  expect(await station.jobs()).toMatchObject([{ state: "COMPLETE", attempt_count: 0 }]);
  expect(await station.violations()).toEqual([]);
  await station.stop(second);
});

test("an orphan whose runner died with the daemon is ended, and its job runs again", async () => {
  const station = await DaemonStation.make({ prompts: 4 });
  station.night.writeMachine({ runners: [ownRunner("own")] });
  const first = await station.daemon();
  station.drop("night.json", [{ model: "tiny" }]);
  await waitFor("an eval", async () => (await station.status()).running?.step === "eval");
  first.child.kill("SIGKILL");
  await first.finished;
  const second = await station.daemon();
  await station.waitPlaced("done");
  expect(await station.jobs()).toMatchObject([{ state: "COMPLETE", attempt_count: 0 }]);
  expect(await station.violations()).toEqual([]);
  await station.stop(second);
});

test("the first SIGTERM lets the step end, the second ends it; no attempt is counted", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const first = await station.daemon();
  station.drop("night.json");
  await inEval(station);
  first.child.kill("SIGTERM");
  await waitFor("the stop", async () => (await station.status()).daemon.stopping);
  expect(first.child.exitCode).toBeNull();
  first.child.kill("SIGTERM");
  expect((await first.finished).exit_code).toBe(0);
  expect(stepPid(station)).toBeUndefined();
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", attempt_count: 0 }]);
  expect(await station.violations()).toEqual([]);
  // The one signal: the step ends well, and with it the job.
  const second = await station.daemon();
  await waitFor("a request", () => stepPid(station) !== undefined && station.gate.asked > 1);
  second.child.kill("SIGTERM");
  await waitFor("the stop", async () => (await station.status()).daemon.stopping);
  station.gate.open();
  expect((await second.finished).exit_code).toBe(0);
  const [job] = await station.jobs();
  expect(job?.attempt_count).toBe(0);
  expect(["PENDING", "COMPLETE"]).toContain(job?.state);
  expect(await station.violations()).toEqual([]);
});

test("a full disk stops new work and is said", async () => {
  const station = await DaemonStation.make({ machine: { limits: { min_free_disk_mb: 1e9 } } });
  const daemon = await station.daemon();
  station.drop("night.json");
  await waitFor("the job", async () => (await station.jobs()).length === 1);
  await waitFor("the reason", async () => (await station.status()).why_idle?.includes("disk low"));
  expect((await station.jobs()).map(({ state }) => state)).toEqual(["PENDING"]);
  await station.stop(daemon);
});

test("the wake file and SIGHUP bring a look at once", async () => {
  const station = await DaemonStation.make();
  const daemon = await station.daemon();
  const path = join(station.state_dir, "daemon.json");
  const snapshot = () => JSON.parse(readFileSync(path, "utf8"));
  // It says that it runs before it has looked for the first time.
  await waitFor("the first look", () => existsSync(path));
  const before = snapshot().updated;
  daemon.child.kill("SIGHUP");
  await waitFor("a look", () => snapshot().updated !== before);
  expect(daemon.child.exitCode).toBeNull();
  await station.stop(daemon);
});
