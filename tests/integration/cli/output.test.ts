import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { onlyIf } from "../../helpers/only-if.ts";
import { command, isolatedEnv, startCommand } from "../../helpers/command.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A station of its own, and the variables that keep everything inside `home`. */
async function station() {
  const home = tempDir();
  const env = isolatedEnv(home);
  const root = join(home, "bench");
  const made = await command(["init", root], { env });
  expect(made.exit_code).toBe(0);
  return { home, env, root };
}

it("goes on when the reader of its messages has gone", async () => {
  const { env, root } = await station();
  const running = startCommand(["lock", "run", "--", "sh", "-c", "echo ran > ran.txt"], {
    env,
    cwd: root,
  });
  running.child.stderr.destroy();
  running.child.stdout.destroy();
  const { exit_code } = await running.finished;
  expect(exit_code).toBe(0);
  expect(execFileSync("cat", [join(root, "ran.txt")], { encoding: "utf8" })).toBe("ran\n");
});

test.each(onlyIf(process.platform === "linux"))(
  "says failure where the answer that a script asked for is lost, not where a remark is",
  async () => {
    const { env, root } = await station();
    const full = openSync("/dev/full", "w");
    try {
      const lost = await command(["config", "show", "--json"], { env, cwd: root, stdout: full });
      expect(lost.exit_code).toBe(1);
      const fast = await command(["status", "--json"], { env, cwd: root, stdout: full });
      expect([fast.exit_code, fast.stderr.split("\n").length]).toEqual([1, 2]);
      const told = await command(["config", "show", "--json"], { env, cwd: root, stderr: full });
      expect(told.exit_code).toBe(0);
      expect(() => JSON.parse(told.stdout) as unknown).not.toThrow();
    } finally {
      closeSync(full);
    }
  },
);

it("names trouble with the system in one line, without a stack", async () => {
  const { home, env } = await station();
  writeFileSync(join(home, "file"), "");
  const { exit_code, stderr } = await command(["init", join(home, "file", "x")], { env });
  expect(exit_code).not.toBe(0);
  expect(stderr).toMatch(/ENOTDIR|EEXIST|not a directory/);
  expect(stderr).not.toContain("    at ");
});

it("refuses to run a queue file of a station that nobody here trusts", async () => {
  const { home, env, root } = await station();
  const stranger = join(home, "pulled");
  execFileSync("cp", ["-r", root, stranger]);
  writeFileSync(join(stranger, "night.yaml"), "entries: [{ model: m, pack: p.yaml }]\n");
  for (const what of ["run", "check"]) {
    const refused = await command(["queue", what, "night.yaml"], { env, cwd: stranger });
    expect(refused.exit_code).toBe(78);
    expect(refused.stderr).toContain("not trusted");
    expect(refused.stderr).toContain(`touchstoned init ${stranger}`);
  }
});

test.each(onlyIf(process.platform !== "win32"))(
  "does not wait for a named pipe in place of a queue file",
  async () => {
    const { env, root } = await station();
    execFileSync("mkfifo", [join(root, "night.yaml")]);
    const { exit_code, stderr } = await command(["queue", "check", "night.yaml"], {
      env,
      cwd: root,
    });
    expect(exit_code).toBe(64);
    expect(stderr).toContain("is not a regular file");
  },
);

test("what comes next can be copied, whatever the station is called", async () => {
  const home = tempDir();
  const env = isolatedEnv(home);
  const made = await command(["init", join(home, "it's a bench")], { env, cwd: home });
  const hint = /touchstoned (config check .*)$/m.exec(made.stderr)?.[1] ?? "none";
  const words = execFileSync("sh", ["-c", `printf '%s\\n' ${hint}`], { encoding: "utf8" });
  const checked = await command(words.trimEnd().split("\n"), { env, cwd: home });
  expect([checked.stderr, checked.exit_code]).toEqual(["", 0]);
});

test("a purge of what is not installed any more says what it leaves", async () => {
  const { env, home, root } = await station();
  const quiet = await command(["uninstall", "--purge"], { env, cwd: root });
  expect([quiet.stdout, quiet.stderr]).toEqual(["nothing is installed\n", ""]);
  const state = join(home, "state", "touchstoned");
  mkdirSync(state, { recursive: true });
  const told = await command(["uninstall", "--purge"], { env, cwd: root });
  expect(told.stdout).toBe("nothing is installed\n");
  expect(told.stderr).toContain(state);
});
