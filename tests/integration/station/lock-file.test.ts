import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { endModelLock, lockStatus } from "../../../src/station/index.ts";
import { command, isolatedEnv } from "../../helpers/command.ts";
import { place, shellGets, take } from "../../helpers/lock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("the lock file", () => {
  it("is made once, 0640 whatever the umask, and stays the same", async () => {
    const { path } = place();
    const umask = process.umask(0o077);
    const lock = await take(path).finally(() => process.umask(umask));
    const first = statSync(path);
    expect(first.mode & 0o777).toBe(0o640);
    const info = JSON.parse(readFileSync(`${path}.info`, "utf8")) as Record<string, unknown>;
    expect(info).toMatchObject({ pid: process.pid, purpose: "test", run_id: "RUN1" });
    await endModelLock(lock);
    const again = await take(path);
    expect(statSync(path).ino).toBe(first.ino);
    again.release();
    again.release(); // twice is once
  });

  it("that was removed and made anew is not taken for the one that was locked", async () => {
    const { path } = place();
    // Moved away while the flock helper runs: our open file is then not the one at the path.
    const bin = tempDir();
    const flock = spawnSync("sh", ["-c", "command -v flock"], { encoding: "utf8" }).stdout.trim();
    writeFileSync(
      join(bin, "flock"),
      `#!/bin/sh\nif [ ! -e ${path}.old ]; then mv ${path} ${path}.old; : > ${path}; fi\nexec ${flock} "$@"\n`,
      { mode: 0o755 },
    );
    const before = process.env["PATH"];
    process.env["PATH"] = `${bin}:${before}`;
    const lock = await take(path).finally(() => (process.env["PATH"] = before));
    expect(existsSync(`${path}.old`)).toBe(true);
    expect(lock.ino).toBe(statSync(path).ino);
    expect(shellGets(path)).toBe(false);
    lock.release();
  });

  it("is a new lock for who comes after a removal, and the status tells of the new one", async () => {
    const { path } = place();
    const old = await take(path);
    renameSync(path, `${path}.gone`);
    expect(await lockStatus(path)).toMatchObject({ held: false, text: "free (never taken yet)" });
    const lock = await take(path);
    expect(lock.ino).not.toBe(old.ino);
    old.release();
    lock.release();
  });

  it.each([
    [
      "whose directory is missing",
      (path: string) => rmSync(join(path, ".."), { recursive: true }),
      "there is no directory",
    ],
    ["that is a directory", (path: string) => mkdirSync(path), "it is not a regular file"],
    ["that is a link", (path: string) => symlinkSync("/dev/null", path), "it is a symbolic link"],
    ["that is a FIFO", (path: string) => spawnSync("mkfifo", [path]), "it is not a regular file"],
    [
      "below a file",
      (path: string) => {
        rmSync(join(path, ".."), { recursive: true });
        writeFileSync(join(path, ".."), "");
      },
      "is not a directory",
    ],
  ])("%s is refused in words", async (_, spoil, message) => {
    const home = tempDir();
    mkdirSync(join(home, "dir"));
    const path = join(home, "dir", "model.lock");
    spoil(path);
    const env = { ...isolatedEnv(home), TOUCHSTONED_LOCK: path };
    const ended = await command(["lock", "run", "--", "true"], { env });
    expect(ended.exit_code).toBe(78);
    expect(ended.stderr).toContain(path);
    expect(ended.stderr).toContain(message);
    expect(ended.stderr).toContain("lock_path in machine.yaml");
  });

  it("keeps no child of a holder in the lock by accident", async () => {
    const { path } = place();
    const lock = await take(path);
    const child = spawn("sh", ["-c", "echo up; cat"], { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    lock.release();
    expect(shellGets(path)).toBe(true);
    child.stdin.end();
  });
});

describe("the sidecar", () => {
  it.each([
    ["another process of the same number", { start_token: "1" }],
    ["another boot", { boot_id: "00000000-0000-0000-0000-000000000000" }],
    ["a process that is gone", { pid: 4_000_000 }],
    ["nonsense", { pid: "x" }],
  ])("is not believed where it names %s", async (_, change) => {
    const { path } = place();
    const lock = await take(path);
    const info = JSON.parse(readFileSync(`${path}.info`, "utf8")) as object;
    expect((await lockStatus(path)).holder).not.toBeNull();
    writeFileSync(`${path}.info`, JSON.stringify({ ...info, ...change }));
    const status = await lockStatus(path);
    expect(status).toMatchObject({ held: true, holder: null });
    expect(status.text).toContain("another program");
    lock.release();
  });
});
