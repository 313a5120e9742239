import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { confine, openStation } from "../../../src/station/index.ts";
import { command } from "../../helpers/command.ts";
import { testStation, type TestStation } from "../../helpers/station.ts";

let made: TestStation;
/** Made by whatever the repository gets to run. */
let marker = "";

function git(...args: string[]): void {
  const run = spawnSync("git", ["-C", made.root, ...args], {
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"],
      HOME: made.home,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "x",
      GIT_AUTHOR_EMAIL: "x@example.org",
      GIT_COMMITTER_NAME: "x",
      GIT_COMMITTER_EMAIL: "x@example.org",
    },
  });
  if (run.status !== 0) throw new Error(`git ${args.join(" ")}: ${run.stderr}`);
}

function put(name: string, text: string, mode = 0o644): void {
  const path = join(made.root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

function open(): ReturnType<typeof openStation> {
  return openStation({ env: made.env, cwd: made.root });
}

beforeEach(() => {
  made = testStation({
    policy: "schema_version: 1\n",
    machine: "trusted_stations: [ROOT]\nlimits: {step_timeout_s: {eval: 3600}}\n",
  });
  marker = join(made.home, "EXECUTED");
  git("init", "-q", "-b", "main");
});

describe("a repository that is trusted and well", () => {
  it("may track the README and the examples of its inbox", async () => {
    put("inbox/README.md", "");
    put("inbox/examples/night.yaml", "");
    put("inbox/mine.yaml", "entries: []"); // there, but not tracked: a person's own
    git("add", "inbox/README.md", "inbox/examples", "touchstoned.yaml");
    expect(await open()).toMatchObject({ trusted: true });
  });
});

describe("a repository that brings work", () => {
  it.each([
    ["inbox/evil.yaml"],
    ["inbox/done/old.yaml"],
    ["inbox/.hidden"],
    ["inbox/README.md.yaml"],
    ["inbox/examples"],
    ["INBOX/evil.yaml"],
    ["inbox"],
  ])("is refused when git tracks %s", async (name) => {
    put(name, "entries: []");
    git("add", "-f", name);
    git("commit", "-q", "-m", "pull me");
    await expect(open()).rejects.toMatchObject({ code: "inbox_tracked", exitCode: 78 });
    await expect(open()).rejects.toThrow(JSON.stringify(name));
    const check = await command(["config", "check"], { cwd: made.root, env: made.env });
    expect(check).toMatchObject({ exit_code: 78 });
    expect(check.stdout).toContain("must not bring queue files");
  });

  it("is refused also where the station is a directory inside it", async () => {
    const inner = join(made.root, "inner");
    put("inner/touchstoned.yaml", "");
    put("inner/inbox/evil.yaml", "");
    git("add", "-f", "inner");
    const opening = openStation({ explicit: inner, env: made.env, cwd: "/" });
    await expect(opening).rejects.toMatchObject({ code: "inbox_tracked" });
  });

  it("is refused where a broken .git hides the repository above", async () => {
    const inner = join(made.root, "inner");
    put("inner/touchstoned.yaml", "");
    put("inner/inbox/evil.yaml", "");
    git("add", "-f", "inner");
    mkdirSync(join(inner, ".git"));
    const opening = openStation({ explicit: inner, env: made.env, cwd: "/" });
    await expect(opening).rejects.toMatchObject({ code: "inbox_tracked" });
  });

  it("is refused by init, which then trusts and writes nothing", async () => {
    put("inbox/evil.yaml", "entries: []");
    git("add", "-f", "inbox/evil.yaml");
    unlinkSync(made.machine_path);
    const init = await command(["init", made.root], { env: made.env });
    expect(init.exit_code).toBe(78);
    expect(existsSync(made.machine_path)).toBe(false);
    expect(existsSync(join(made.root, "inbox", "README.md"))).toBe(false);
  });

  it("is refused where git cannot say what it tracks", async () => {
    writeFileSync(join(made.root, ".git", "index"), "no index at all");
    await expect(open()).rejects.toMatchObject({ code: "git_unreadable" });
  });

  it("is refused where git is missing, so that nobody can tell", async () => {
    const env = { ...made.env, PATH: join(made.home, "empty") };
    await expect(openStation({ env, cwd: made.root })).rejects.toMatchObject({
      code: "git_unreadable",
      hint: expect.stringContaining("install git"),
    });
  });

  it.each([
    ["core.worktree", ".."],
    ["core.worktree", "/"],
    ["core.bare", "true"],
  ])("is not hidden by a setting of its own: %s = %s", async (key, value) => {
    put("inbox/evil.yaml", "");
    git("add", "-f", "inbox/evil.yaml");
    git("config", key, value);
    await expect(open()).rejects.toMatchObject({ code: "inbox_tracked" });
  });

  it("is refused where the inbox is a repository that it pulls in (a submodule)", async () => {
    put("sub/file", "");
    spawnSync("git", ["-C", join(made.root, "sub"), "init", "-q"]);
    git("update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},inbox`);
    await expect(open()).rejects.toMatchObject({ code: "inbox_tracked" });
  });

  it("is not hidden by variables that name another repository", async () => {
    put("inbox/evil.yaml", "");
    git("add", "-f", "inbox/evil.yaml");
    const elsewhere = join(made.home, "elsewhere");
    spawnSync("git", ["init", "-q", elsewhere]);
    const before = process.env["GIT_DIR"];
    process.env["GIT_DIR"] = join(elsewhere, ".git");
    const env = { ...made.env, GIT_DIR: join(elsewhere, ".git"), GIT_INDEX_FILE: "/dev/null" };
    const opening = openStation({ env, cwd: made.root }).finally(() => {
      if (before === undefined) delete process.env["GIT_DIR"];
      else process.env["GIT_DIR"] = before;
    });
    await expect(opening).rejects.toMatchObject({ code: "inbox_tracked" });
  });

  it("brings a state directory in vain", async () => {
    put("state/touchstoned/queue.db", "evil");
    put(".touchstoned/queue.db", "evil");
    put("runs/x/bundle.json", "{}");
    const { state_dir, runs_dir } = await open();
    expect(state_dir.startsWith(`${made.root}/`)).toBe(false);
    expect(runs_dir.startsWith(`${made.root}/`)).toBe(false);
    expect(existsSync(join(state_dir, "queue.db"))).toBe(false);
  });
});

describe("a repository that brings programs", () => {
  it("runs nothing: no hook, no fsmonitor, no filter, no alias, no pager, no git of its own", async () => {
    const evil = `#!/bin/sh\necho "$0" >> ${marker}\n`;
    put("evil.sh", evil, 0o755);
    for (const hook of ["post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout"]) {
      put(`.git/hooks/${hook}`, evil, 0o755);
    }
    put("bin/git", evil, 0o755);
    put("git", evil, 0o755);
    put(".gitattributes", "* filter=evil\n");
    put("inbox/README.md", "");
    git("add", "inbox/README.md");
    const script = join(made.root, "evil.sh");
    for (const [key, value] of [
      ["core.fsmonitor", script],
      ["core.pager", script],
      ["core.sshCommand", script],
      ["core.hooksPath", join(made.root, ".git/hooks")],
      ["core.editor", script],
      ["alias.ls-files", `!${script}`],
      ["filter.evil.clean", script],
      ["filter.evil.smudge", script],
      ["credential.helper", `!${script}`],
      ["diff.external", script],
    ] as const) {
      git("config", key, value);
    }
    // The control: git as a person calls it does run the fsmonitor of this repository.
    spawnSync("git", ["-C", made.root, "status"]);
    expect(existsSync(marker)).toBe(true);
    unlinkSync(marker);

    const env = { ...made.env, PATH: `.:${join(made.root, "bin")}:${process.env["PATH"] ?? ""}` };
    expect(await openStation({ env, cwd: made.root })).toMatchObject({ trusted: true });
    for (const args of [
      ["config", "check"],
      ["config", "show", "--origin"],
      ["init", made.root],
    ]) {
      const ran = await command(args, { cwd: made.root, env });
      expect(ran).toMatchObject({ exit_code: 0 });
    }
    expect(existsSync(marker)).toBe(false);
  });
});

describe("a repository whose touchstoned.yaml asks for more than it may", () => {
  it("has each wish refused, all in one go", async () => {
    put(
      "touchstoned.yaml",
      `runners: [{name: evil, kind: openai, url: "http://evil.example"}]
reset_commands: [./evil.sh]
lock_path: /tmp/evil.lock
defaults:
  runner: evil
  reset_command: ./evil.sh
  api_key_file: /home/me/.ssh/id_ed25519
  binary: ./evil.sh
limits:
  step_timeout_s: {eval: 3601}
`,
    );
    const check = await command(["config", "check", "--json"], { cwd: made.root, env: made.env });
    expect(check.exit_code).toBe(78);
    const { faults } = JSON.parse(check.stdout) as { faults: { message: string }[] };
    const said = faults.map(({ message }) => message);
    for (const key of ["runners", "reset_commands", "lock_path", "api_key_file", "binary"]) {
      expect(said).toContain(`"${key}" is not for a repository to say`);
    }
  });

  it("does not reach the terminal with escape sequences", async () => {
    put("touchstoned.yaml", '"\\e]0;owned\\a\\e[2J": 1\n');
    const check = await command(["config", "check"], { cwd: made.root, env: made.env });
    expect(check.exit_code).toBe(78);
    expect(check.stdout).toContain(String.raw`\u001b]0;owned\u0007`);
    expect(check.stdout).not.toContain("\u001B");
  });

  it("has looser bounds refused, and a runner or command that nobody declared", async () => {
    put(
      "touchstoned.yaml",
      "defaults: {runner: evil, reset_command: ./evil.sh}\nlimits: {step_timeout_s: {eval: 3601}}\n",
    );
    const check = await command(["config", "check"], { cwd: made.root, env: made.env });
    expect(check.exit_code).toBe(78);
    expect(check.stdout).toContain("3601 is looser than 3600");
    expect(check.stdout).toContain(`${made.machine_path}:2`);
    expect(check.stdout).toContain('"evil" is no runner of');
    expect(check.stdout).toContain('"./evil.sh" is not among the reset commands');
  });

  it.each([
    ["a FIFO", (path: string) => void spawnSync("mkfifo", [path]), "it is a FIFO"],
    ["a link", (path: string) => symlinkSync("/etc/passwd", path), "it is a symbolic link"],
    ["a directory", (path: string) => mkdirSync(path), "it is a directory"],
    [
      "10 MB long",
      (path: string) => {
        writeFileSync(path, "");
        truncateSync(path, 10_000_000);
      },
      "it has over 262144 bytes",
    ],
    ["a bomb of brackets", (path: string) => writeFileSync(path, "[".repeat(900)), "nested deeper"],
  ])("is refused where the file is %s", async (_, spoil, message) => {
    const path = join(made.root, "touchstoned.yaml");
    unlinkSync(path);
    spoil(path);
    const check = await command(["config", "check"], { cwd: made.root, env: made.env });
    expect(check.exit_code).toBe(78);
    expect(check.stdout).toContain(`${path}: ${message}`);
  });
});

describe("a repository with a pack that points outside", () => {
  it("gets the secret neither by a link nor by a way up", () => {
    const secret = join(made.home, "secret");
    writeFileSync(secret, "s");
    mkdirSync(join(made.root, "packs"));
    symlinkSync(secret, join(made.root, "packs", "pack.yaml"));
    symlinkSync(made.home, join(made.root, "packs", "home"));
    for (const path of ["packs/pack.yaml", "packs/home/secret", "../secret", secret]) {
      expect(() => confine(made.root, path, "entries.0.pack")).toThrow(
        expect.objectContaining({ code: "outside_station" }),
      );
    }
  });
});

describe("config and init as commands", () => {
  it("show where values come from, in text and in JSON", async () => {
    put("touchstoned.yaml", "defaults:\n  cooldown_s: 7\n");
    const text = await command(["config", "show", "--origin"], { cwd: made.root, env: made.env });
    expect(text.stdout).toMatch(/^defaults\.cooldown_s +7 +\(touchstoned\.yaml:2\)$/m);
    expect(text.stdout).toMatch(/^limits\.step_timeout_s\.eval +3600 +\(machine\.yaml:2\)$/m);
    const json = await command(["config", "show", "--json"], { cwd: made.root, env: made.env });
    const rows = JSON.parse(json.stdout) as { key: string; origin: { line: number | null } }[];
    expect(rows.find(({ key }) => key === "defaults.cooldown_s")?.origin.line).toBe(2);
  });

  it("say what to do about modes", async () => {
    chmodSync(made.machine_path, 0o622);
    const show = await command(["config", "show"], { cwd: made.root, env: made.env });
    expect(show.exit_code).toBe(78);
    expect(show.stderr).toContain(`chmod go-w ${made.machine_path}`);
  });

  it("print what init did as JSON, and nothing else on stdout", async () => {
    const init = await command(["init", "--json"], { cwd: made.root, env: made.env });
    expect(JSON.parse(init.stdout)).toMatchObject({ root: made.root, trusted: true });
    expect(readFileSync(join(made.root, ".gitignore"), "utf8")).toContain("/inbox/*");
    const ignored = spawnSync("git", ["-C", made.root, "check-ignore", "inbox/x.yaml"]);
    expect(ignored.status).toBe(0);
    const seen = spawnSync("git", ["-C", made.root, "check-ignore", "inbox/examples/night.yaml"]);
    expect(seen.status).toBe(1);
  });
});
