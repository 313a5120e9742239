import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SlotsStatus } from "../../../src/daemon/index.ts";
import { command, startCommand, type RunningCommand } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { take } from "../../helpers/lock.ts";
import { measure } from "../../helpers/measured.ts";
import { slotsStation, writePolicy, type MeasuredStation } from "../../helpers/measured-station.ts";
import { waitFor } from "../../helpers/wait.ts";

const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** A station where two at once were measured to be good, beside a server of four slots. */
async function measured(slots = 4): Promise<MeasuredStation> {
  const server = await fakeLlamaServer({ slots });
  const station = slotsStation({ kind: "llama-server", url: server.url });
  const model = { id: "unknown", digest: null };
  const identity = { kind: "llama-server", version: "b1-fake", model, context_per_slot: 1024 };
  await measure(station.state_dir, identity);
  return station;
}

/** `slots run` around a shell. */
function start(station: MeasuredStation, script: string, ...more: string[]): RunningCommand {
  const words = ["slots", "run", ...more, "--", "sh", "-c", script];
  const running = startCommand(words, { cwd: station.root, env: station.env });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  return running;
}

/** Resolves when it has its slot. */
async function holder(station: MeasuredStation): Promise<RunningCommand> {
  const running = start(station, "echo held; cat");
  await waitFor("a slot", () => running.output().stdout.includes("held"));
  return running;
}

async function status(station: MeasuredStation): Promise<SlotsStatus> {
  const ended = await command(["slots", "status", "--json"], {
    cwd: station.root,
    env: station.env,
  });
  return JSON.parse(ended.stdout) as SlotsStatus;
}

describe("slots run", () => {
  it.each([
    ["exit 7", 7],
    ["kill -9 $$", 137],
    ["no-such-program-here", 127],
  ])("passes on how the command ended: %s", async (script, code) => {
    const station = await measured();
    expect((await start(station, script).finished).exit_code).toBe(code);
  });

  it.each(["no-such-program-here", "./no-such-program-here"])(
    "says of a program that is not there what it is: %s",
    async (name) => {
      const { root: cwd, env } = await measured();
      const ended = await command(["slots", "run", "--", name], { cwd, env });
      expect(ended.exit_code).toBe(127);
      expect(ended.stderr).toContain(`cannot run ${name}: `);
      expect(ended.stderr).not.toContain("setpriv");
    },
  );

  it("is busy where all slots are taken or something is measured, and says by whom", async () => {
    const station = await measured();
    const holders = [await holder(station), await holder(station)];
    const busy = await start(station, "echo ran").finished;
    expect(busy).toMatchObject({ exit_code: 75, stdout: "" });
    expect(busy.stderr).toContain("2 of 2 slots are taken: pid ");
    const { leases, answer, lock } = await status(station);
    expect(answer.allowed).toBe(2);
    expect(leases.map(({ slot, pid }) => [slot, pid])).toEqual([
      [1, holders[0]?.child.pid],
      [2, holders[1]?.child.pid],
    ]);
    expect(lock.text).toContain("shared by pid");
    for (const { child } of holders) child.stdin.end();
    for (const { finished } of holders) expect((await finished).exit_code).toBe(0);
    const lock_path = station.env["TOUCHSTONED_LOCK"] ?? "";
    const measuring = await take(lock_path);
    expect((await start(station, "echo ran").finished).stderr).toContain("the model lock is held");
    const waiting = start(station, "echo ran", "--wait", "60");
    await waitFor("a wait", () => waiting.output().stderr.includes("waiting for a slot"));
    measuring.release();
    expect(await waiting.finished).toMatchObject({ exit_code: 0, stdout: "ran\n" });
  });

  it("gives the slot back when it is killed, and ends its command", async () => {
    const station = await measured(1);
    const held = await holder(station);
    expect((await start(station, "echo ran").finished).exit_code).toBe(75);
    held.child.kill("SIGKILL");
    const next = await start(station, "echo ran", "--wait", "30").finished;
    expect(next).toMatchObject({ exit_code: 0, stdout: "ran\n" });
    await held.finished; // its shell has ended, too: nobody holds its output any more
    expect((await status(station)).leases).toEqual([]);
  });

  it("takes no second slot inside of one", async () => {
    const station = await measured(1);
    const script = `"${process.execPath}" "${MAIN}" slots run -- sh -c 'echo inner'`;
    const ended = await start(station, script).finished;
    expect(ended).toMatchObject({ exit_code: 0, stdout: "inner\n" });
  });

  it("gives eight scripts that ask at once no more slots than are allowed", async () => {
    const station = await measured();
    const log = join(station.home, "log");
    writeFileSync(log, "");
    const go = join(station.home, "go");
    // Each says when it is in and when it is out; it stays in until the next one had time to come.
    const script = `echo in >> ${log}; while [ ! -e ${go} ] && [ "$(grep -c in ${log})" -lt 2 ]; do sleep 0.02; done; echo out >> ${log}`;
    const scripts = Array.from({ length: 8 }, () => start(station, script, "--wait", "100"));
    const ended = await Promise.all(scripts.map(({ finished }) => finished));
    expect(ended.map(({ exit_code }) => exit_code)).toEqual(Array.from({ length: 8 }, () => 0));
    let inside = 0;
    let most = 0;
    for (const word of readFileSync(log, "utf8").trim().split("\n")) {
      inside += word === "in" ? 1 : -1;
      most = Math.max(most, inside);
    }
    expect(inside).toBe(0);
    expect(most).toBe(2);
  });

  it("says what is wrong with the policy, as `slots allowed` does, and runs with one", async () => {
    const station = await measured();
    writePolicy(station, { local_models: { concurrent_runs: "lots" } });
    const ended = await start(station, "echo ran").finished;
    expect(ended).toMatchObject({ exit_code: 0, stdout: "ran\n" });
    const { root: cwd, env } = station;
    const { stderr } = await command(["slots", "allowed"], { cwd, env });
    expect(stderr).toMatch(
      /^slots: 1 at once: the configuration cannot be used: .*concurrent_runs/,
    );
    expect(ended.stderr).toBe(stderr);
  });

  it("refuses a wait that is no number", async () => {
    const station = await measured();
    expect((await start(station, "true", "--wait", "soon").finished).exit_code).toBe(2);
  });
});

describe("slots request and status", () => {
  it("puts a wish down once, with the first reason, and shows it", async () => {
    const station = await measured();
    const ask = (reason: string) =>
      command(["slots", "request", "--model", "m", "--reason", reason], {
        cwd: station.root,
        env: station.env,
      });
    expect((await ask("new driver")).stdout).toBe("asked for: m with runner local\n");
    expect((await ask("again")).stdout).toBe("already asked for: m with runner local\n");
    const { requests, outbox, evidence } = await status(station);
    expect(requests).toMatchObject([{ runner: "local", model: "m", reason: "new driver" }]);
    expect(outbox.waiting).toBe(1);
    expect(evidence).toMatchObject([
      { recommended: 2, age_days: 0, used: true, committed: false, faults: [] },
    ]);
    const shown = await command(["slots", "status"], { cwd: station.root, env: station.env });
    expect(shown.stdout).toContain("allowed: 2, because 2 measured");
    expect(shown.stdout).toContain("m with local since");
    expect(shown.stdout).toContain("waiting to be committed: 1");
  });

  it("shows evidence that is not believed, with the reason", async () => {
    const station = await measured();
    const { evidence } = await status(station);
    const path = join(station.state_dir, "evidence", `${evidence[0]?.key ?? ""}.json`);
    appendFileSync(path, " ");
    const shown = await command(["slots", "status"], { cwd: station.root, env: station.env });
    expect(shown.stdout).toMatch(/not believed: its text is not the canonical form/);
  });

  it("asks which model where nothing names one", async () => {
    const station = await measured();
    const ended = await command(["slots", "request"], { cwd: station.root, env: station.env });
    expect(ended.exit_code).toBe(2);
    expect(ended.stderr).toContain("which model is to be measured?");
  });
});
