import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { TouchstonedError } from "../../../src/core/errors.ts";
import {
  acquireModelLock,
  inheritedModelLock,
  lockEnvironment,
  lockStatus,
  type LockStatus,
} from "../../../src/station/index.ts";
import { command, startCommand, type RunningCommand } from "../../helpers/command.ts";
import { place, SHELL_LOCK, shellGets, take } from "../../helpers/lock.ts";
import { waitFor } from "../../helpers/wait.ts";

/** A shell that holds the lock until its input ends. Resolves when it has it. */
async function shellHolder(path: string): Promise<ChildProcess> {
  const [file = "", ...args] = SHELL_LOCK;
  const child = spawn(file, [...args, path, "sh", "-c", "echo held; cat"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (child.stdout === null) throw new Error("no output");
  await once(child.stdout, "data");
  return child;
}

/** `lock run` around a shell that holds it until its input ends. Resolves when it has it. */
async function lockRun(env: Record<string, string>, script: string): Promise<RunningCommand> {
  const running = startCommand(["lock", "run", "--", "sh", "-c", script], { env });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  await waitFor("lock run", () => running.output().stdout.includes("\n"));
  return running;
}

describe("the model lock and a shell", () => {
  it("excludes lock run while a shell holds it, says so honestly, and lets it in afterwards", async () => {
    const { path, env } = place();
    const shell = await shellHolder(path);
    const busy = await command(["lock", "run", "--", "echo", "ran"], { env });
    expect(busy.exit_code).toBe(75);
    expect(busy.stdout).toBe("");
    expect(busy.stderr).toContain("held by another program (a shell?)");
    const status = await command(["lock", "status", "--json"], { env });
    const said = JSON.parse(status.stdout) as LockStatus & { source: string };
    expect(said).toMatchObject({ path, held: true, holder: null, source: "environment" });
    // Linux shows which processes have it; the shell below flock has inherited it.
    const pids = said.processes.map(({ pid }) => pid);
    expect(pids.includes(shell.pid ?? 0)).toBe(process.platform === "linux");
    shell.stdin?.end();
    const waited = await command(["lock", "run", "--wait", "60", "--", "echo", "ran"], { env });
    expect(waited).toMatchObject({ exit_code: 0, stdout: "ran\n" });
  });

  it("excludes a shell while lock run holds it, and names it", async () => {
    const { path, env } = place();
    const running = await lockRun(env, "echo held; cat");
    expect(shellGets(path)).toBe(false);
    const status = await lockStatus(path);
    expect(status.holder).toMatchObject({ pid: running.child.pid, purpose: "lock run sh" });
    expect(status.text).toMatch(/^held by pid \d+ \(lock run sh\) since 20\d\d-/);
    const busy = await command(["lock", "run", "--", "true"], { env });
    expect(busy.exit_code).toBe(75);
    expect(busy.stderr).toContain(`pid ${running.child.pid}`);
    running.child.stdin.end();
    expect((await running.finished).exit_code).toBe(0);
    expect(shellGets(path)).toBe(true);
    expect(existsSync(`${path}.info`)).toBe(false);
  });

  it("waits until the other one ends, and says for whom", async () => {
    const { path } = place();
    const shell = await shellHolder(path);
    let told: LockStatus | undefined;
    const taking = take(path, 60, (status) => {
      told = status;
      shell.stdin?.end();
    });
    const lock = await taking;
    expect(told?.text).toContain("another program");
    expect(shellGets(path)).toBe(false);
    lock.release();
    expect(shellGets(path)).toBe(true);
  });

  it("ends a wait when it is told to stop", async () => {
    const { path } = place();
    await shellHolder(path);
    const controller = new AbortController();
    const taking = acquireModelLock({
      path,
      wait_s: 3600,
      holder: { purpose: "test", run_id: null },
      clock: systemClock,
      signal: controller.signal,
      onWait: () => controller.abort(),
    });
    await expect(taking).rejects.toMatchObject({ code: "cancelled", exitCode: 75 });
  });
});

describe("lock run", () => {
  it.each([
    ["exit 7", 7],
    ["kill -9 $$", 137],
    ["kill -TERM $$", 143],
  ])("passes on how the command ended: %s", async (script, status) => {
    const { env } = place();
    const ended = await command(["lock", "run", "--", "sh", "-c", script], { env });
    expect(ended.exit_code).toBe(status);
  });

  it.each([
    [["no-such-program-here"], 127],
    [["/dev/null"], 126],
  ])("says as a shell does that %j cannot be run", async (words, status) => {
    const { path, env } = place();
    const ended = await command(["lock", "run", "--", ...words], { env });
    expect(ended.exit_code).toBe(status);
    expect(shellGets(path)).toBe(true);
  });

  it.each([
    ["--wait", "soon"],
    ["--wait", "-1"],
    ["--wait", ""],
  ])("refuses %s %j", async (...option) => {
    const { env } = place();
    const ended = await command(["lock", "run", ...option, "--", "true"], { env });
    expect(ended.exit_code).toBe(2);
  });

  it("passes SIGTERM on to the command", async () => {
    const { env } = place();
    const running = await lockRun(
      env,
      "trap 'exit 9' TERM; echo held; while :; do read x || exit 8; done",
    );
    running.child.kill("SIGTERM");
    expect((await running.finished).exit_code).toBe(9);
  });

  it("keeps the lock as long as the command lives when it is killed itself", async () => {
    const { path, env } = place();
    const running = await lockRun(env, "echo $$; exec sleep 1000");
    const pid = Number(running.output().stdout.trim());
    running.child.kill("SIGKILL");
    await once(running.child, "exit");
    expect(shellGets(path)).toBe(false);
    // Its sidecar names a dead process, and is not believed.
    expect(await lockStatus(path)).toMatchObject({ held: true, holder: null });
    process.kill(pid, "SIGKILL");
    await waitFor("the lock", () => shellGets(path));
    expect(await lockStatus(path)).toMatchObject({ held: false });
  });

  it("does not wait for what the command left behind with the descriptor", async () => {
    const { path, env } = place();
    const ended = await command(
      ["lock", "run", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"],
      { env },
    );
    const left = Number(ended.stdout.trim());
    onTestFinished(() => void process.kill(left, "SIGKILL"));
    expect(process.kill(left, 0)).toBe(true);
    expect(shellGets(path)).toBe(process.platform === "linux");
  });

  it("inside a holder uses the lock that is there", async () => {
    const { env } = place();
    const nested = await command(
      [
        "lock",
        "run",
        "--",
        process.execPath,
        ...process.execArgv,
        mainPath,
        "lock",
        "run",
        "--",
        "echo",
        "in",
      ],
      { env },
    );
    expect(nested).toMatchObject({ exit_code: 0, stdout: "in\n" });
  });
});

const mainPath = new URL("../../../src/cli/main.ts", import.meta.url).pathname;

/** What `inheritedModelLock` says against these variables; "believed" where it says nothing. */
function refused(number: string | number | undefined, path: string | undefined): string {
  try {
    inheritedModelLock({
      TOUCHSTONED_LOCK_FD: number === undefined ? undefined : String(number),
      TOUCHSTONED_LOCK_PATH: path,
    });
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return `${error.code} ${error.exitCode}: ${error.message}`;
  }
  return "believed";
}

describe("a lock that is handed over", () => {
  it("is held on by the child that inherited it", async () => {
    const { path } = place();
    const lock = await take(path);
    const { env, descriptor } = lockEnvironment(lock);
    const child = spawn("sh", ["-c", "echo up; cat"], {
      stdio: ["pipe", "pipe", "inherit", descriptor],
      env: { ...process.env, ...env },
    });
    await once(child.stdout as NonNullable<typeof child.stdout>, "data");
    lock.release();
    expect(shellGets(path)).toBe(false);
    child.stdin?.end();
    await once(child, "exit");
    expect(shellGets(path)).toBe(true);
  });

  it("is proven by its descriptor", async () => {
    const { path } = place();
    const lock = await take(path);
    const env = { TOUCHSTONED_LOCK_FD: String(lock.fd), TOUCHSTONED_LOCK_PATH: path };
    expect(inheritedModelLock(env)).toMatchObject({
      path,
      fd: lock.fd,
      dev: lock.dev,
      ino: lock.ino,
    });
    expect(inheritedModelLock({})).toBeUndefined();
    lock.release();
  });

  it("is not believed on the word of the environment", async () => {
    const { home, path } = place();
    const lock = await take(path);
    const other = join(home, "other");
    writeFileSync(other, "");
    const fd = openSync(path, "r");
    const otherFd = openSync(other, "r");
    // The very file, which is locked, but not through this descriptor.
    const own = refused(fd, path);
    expect(own).toContain(process.platform === "linux" ? "carries no lock" : "believed");
    expect(refused(otherFd, path)).toMatch(/^lock_not_inherited 78: .* is not the file/);
    expect(refused(9999, path)).toContain("is not open");
    expect(refused("three", path)).toContain("not a descriptor");
    expect(refused(0, path)).toContain("not a descriptor");
    expect(refused(lock.fd, undefined)).toContain("only one of");
    expect(refused(undefined, path)).toContain("only one of");
    lock.release();
    expect(refused(fd, path)).toContain("carries no lock");
    closeSync(fd);
    closeSync(otherFd);
  });

  it("makes a command fail whose environment says so and whose descriptor is missing", async () => {
    const { path, env } = place();
    const ended = await command(["lock", "run", "--", "true"], {
      env: { ...env, TOUCHSTONED_LOCK_FD: "3", TOUCHSTONED_LOCK_PATH: path },
    });
    expect(ended.exit_code).toBe(78);
    expect(ended.stderr).toContain("was not handed over");
  });
});
