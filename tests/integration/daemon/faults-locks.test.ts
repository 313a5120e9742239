import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { SHELL_LOCK, shellGets } from "../../helpers/lock.ts";
import { waitFor } from "../../helpers/wait.ts";
import { readSummary } from "../steps/setting.ts";
import { DaemonStation } from "./setting.ts";

const LIMIT_MS = 120_000;

function lockOf(station: DaemonStation): string {
  return station.night.env["TOUCHSTONED_LOCK"] ?? "";
}

/** A shell that holds the model lock until it is told to give it back. */
async function shellHolds(path: string): Promise<{ release(): Promise<void> }> {
  const [file = "", ...args] = SHELL_LOCK;
  const shell = spawn(file, [...args, path, "sh", "-c", "echo held; read line"]);
  onTestFinished(() => void shell.kill("SIGKILL"));
  await once(shell.stdout, "data");
  return {
    async release() {
      shell.stdin.end("\n");
      await once(shell, "close");
    },
  };
}

async function whyIdle(station: DaemonStation, text: RegExp): Promise<void> {
  const look = async () => text.test((await station.status()).why_idle ?? "");
  await waitFor(`status to say ${text.source}`, look, LIMIT_MS);
}

test("two daemons at the same moment: one runs, the other says who", async () => {
  const station = await DaemonStation.make();
  const both = [station.night.start("daemon"), station.night.start("daemon")];
  const runs = /daemon of .* runs as/;
  const winner = await waitFor(
    "one that runs",
    () => both.find((one) => runs.test(one.output().stderr)),
    LIMIT_MS,
  );
  const loser = both.find((one) => one !== winner);
  const ended = await loser?.finished;
  expect(ended?.exit_code).toBe(75);
  expect(ended?.stderr).toContain(`pid ${winner.child.pid}`);
  expect(ended?.stderr).not.toMatch(runs);
  // Nothing came of it: the winner works.
  station.drop("night.json");
  await station.waitPlaced("done");
  expect(await station.violations()).toEqual([]);
  await station.stop(winner);
});

test("a daemon that measures and a `queue run`: the second one says who has the lock", async () => {
  const station = await DaemonStation.make();
  const { night } = station;
  station.gate.shut();
  const daemon = await station.daemon();
  station.drop("night.json");
  await waitFor("a request", () => station.gate.asked > 0, LIMIT_MS);
  const file = night.write("own.json", {
    entries: [{ model: { id: "fake", quant: "own" }, pack: "pack.json" }],
  });
  const refused = await night.run("queue", "run", file);
  expect(refused.exit_code).toBe(75);
  expect(refused.stderr).toMatch(/held by pid \d+ \(daemon/);
  const waiting = night.start("queue", "run", file, "--lock-wait", "600");
  await waitFor(
    "the wait",
    () => /waiting for the model lock, held by/.test(waiting.output().stderr),
    LIMIT_MS,
  );
  expect(station.gate.asked).toBe(1);
  station.gate.open();
  const ended = await waiting.finished;
  expect([ended.exit_code, ended.stderr]).toEqual([0, expect.not.stringContaining("error:")]);
  await station.waitPlaced("done");
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
});

test("a `queue run` that measures and a daemon: jobs wait, and status says for whom", async () => {
  const station = await DaemonStation.make();
  const { night } = station;
  station.gate.shut();
  const file = night.write("own.json", {
    entries: [{ model: { id: "fake", quant: "own" }, pack: "pack.json" }],
  });
  const run = night.start("queue", "run", file);
  await waitFor("a request", () => station.gate.asked > 0, LIMIT_MS);
  const daemon = await station.daemon();
  station.drop("night.json");
  await whyIdle(station, /waiting for the model lock, held by pid \d+ \(queue run/);
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", fence: 0 }]);
  expect(station.gate.asked).toBe(1);
  station.gate.open();
  expect((await run.finished).exit_code).toBe(0);
  await station.waitPlaced("done");
  expect(night.submissions().map((directory) => readSummary(directory).ok)).toEqual([1, 1]);
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
});

test("a shell that has the lock is waited for, and the lock file is never replaced", async () => {
  const station = await DaemonStation.make();
  const path = lockOf(station);
  const shell = await shellHolds(path);
  const daemon = await station.daemon();
  station.drop("night.json");
  await whyIdle(station, /waiting for the model lock, held by/);
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", fence: 0 }]);
  expect(station.gate.asked).toBe(0);
  await shell.release();
  await station.waitPlaced("done");
  // And the other way round: while a step has it, a shell gets nothing.
  station.gate.shut();
  station.drop("second.json");
  await waitFor("a request", () => station.gate.asked > 1, LIMIT_MS);
  expect(shellGets(path)).toBe(false);
  station.gate.open();
  await station.waitPlaced("done", 2);
  await waitFor("the lock to be free", () => shellGets(path), LIMIT_MS);
  expect(existsSync(path)).toBe(true);
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
});
