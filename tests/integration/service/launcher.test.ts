import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderLauncher } from "../../../src/daemon/service/render.ts";
import type { ServiceRecord } from "../../../src/daemon/service/record.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { sampleSetup } from "../../helpers/service-setup.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

interface Made {
  home: string;
  lib: string;
  launch: string;
  log: string;
}

/** Shells that the launcher is to work in; the first is what /bin/sh is on Debian. */
const SHELLS = ["/bin/dash", "/bin/sh", "/bin/bash"].filter((path) => existsSync(path));

/** A made-up home with a launcher and a program that says how it was started. */
function made(
  given: { name?: string; record?: Partial<ServiceRecord>; oldest?: number } = {},
): Made {
  const home = join(tempDir(), given.name ?? "home");
  const lib = join(home, "lib");
  const log = join(home, "service.log");
  mkdirSync(join(lib, "current", "dist", "cli"), { recursive: true });
  writeFileSync(join(lib, "current", "dist", "cli", "main.js"), "");
  const setup = sampleSetup("systemd-user");
  const path = join(lib, "launch");
  const text = renderLauncher({
    ...setup,
    places: { ...setup.places, lib, launch: path },
    // Newer than any Node of this machine: what is chosen is made up.
    oldest_node: { major: given.oldest ?? 900, minor: 22 },
    record: {
      ...setup.record,
      node: null,
      crash_log: log,
      account: { ...setup.record.account, home },
      ...given.record,
    },
  });
  writeFileSync(path, text);
  return { home, lib, launch: path, log };
}

/** A Node that says its version, and else its own path and its arguments. */
function fakeNode(path: string, version: string, more = ""): string {
  mkdirSync(dirname(path), { recursive: true });
  const script = `#!/bin/sh
if [ "$1" = --version ]; then echo ${version}; exit 0; fi
${more}
printf '%s|' "$0" "$@"
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

function launch(
  { home, launch: path }: Made,
  args: readonly string[],
  given: { env?: Record<string, string>; shell?: string } = {},
) {
  const env = { HOME: home, PATH: "/usr/bin:/bin", ...given.env };
  const run = spawnSync(given.shell ?? "/bin/sh", [path, ...args], { encoding: "utf8", env });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

const PLACES: [name: string, path: string][] = [
  ["nvm", ".nvm/versions/node/v900.30.0/bin/node"],
  ["Volta", ".volta/tools/image/node/900.30.0/bin/node"],
  ["fnm", ".local/share/fnm/node-versions/v900.30.0/installation/bin/node"],
  ["fnm of old", ".fnm/node-versions/v900.30.0/installation/bin/node"],
  ["fnm on macOS", "Library/Application Support/fnm/node-versions/v900.30.0/installation/bin/node"],
  ["asdf", ".asdf/installs/nodejs/900.30.0/bin/node"],
  ["mise", ".local/share/mise/installs/node/900.30.0/bin/node"],
  ["nodenv", ".nodenv/versions/900.30.0/bin/node"],
  ["n", "n/bin/node"],
];

describe.each(SHELLS)("the launcher in %s", (shell) => {
  it.each(PLACES)("finds the Node of %s, in a home with a blank and a quote", (_name, path) => {
    const world = made({ name: `it's a "home"` });
    const node = fakeNode(join(world.home, path), "v900.30.0");
    expect(launch(world, ["--which"], { shell })).toEqual({
      status: 0,
      stdout: `${node} 900.30.0\n`,
      stderr: "",
    });
  });

  it("takes the newest of all by number, not by letters", () => {
    const world = made();
    for (const version of ["900.22.0", "900.100.0", "900.99.9", "899.200.0"]) {
      fakeNode(join(world.home, `.nvm/versions/node/v${version}/bin/node`), `v${version}`);
    }
    fakeNode(join(world.home, ".volta/tools/image/node/900.100.1/bin/node"), "v900.100.1");
    expect(launch(world, ["--which"], { shell }).stdout).toContain("/.volta/");
    expect(launch(world, ["--which"], { shell }).stdout).toMatch(/ 900\.100\.1\n$/);
  });

  it("says in one line why there is none, and exits 78; under launchd 0", () => {
    const world = made();
    const old = fakeNode(join(world.home, "n/bin/node"), "v20.1.0");
    const none = launch(world, ["daemon"], { shell });
    expect(none.status).toBe(78);
    expect(none.stdout).toBe("");
    expect(none.stderr).toMatch(/^touchstoned: no Node 900\.22 or newer, .*\n$/);
    expect(none.stderr).toContain(`${old} is 20.1.0`);
    expect(none.stderr).toContain("touchstoned install");
    const launchd = launch(world, ["--launchd", "daemon"], { shell });
    expect(launchd).toMatchObject({ status: 0, stderr: none.stderr });
  });

  it("hands every argument on as it is, by the program of `current`", () => {
    const world = made();
    const node = fakeNode(join(world.home, "n/bin/node"), "v900.22.0");
    const args = ["daemon", "--station", `/a b/"q" 'z' $HOME %h *`, ""];
    const main = join(world.lib, "current/dist/cli/main.js");
    expect(launch(world, args, { shell }).stdout.split("|").slice(0, -1)).toEqual([
      node,
      main,
      ...args,
    ]);
    expect(
      launch(world, ["--launchd", ...args], { shell })
        .stdout.split("|")
        .slice(0, -1),
    ).toEqual([node, main, ...args, "--launchd"]);
  });
});

describe("the Node of the installation", () => {
  it("goes first, although there is a newer one", () => {
    const home = tempDir();
    const recorded = fakeNode(join(home, "mine/node"), "v900.22.0");
    const world = made({ record: { node: recorded } });
    fakeNode(join(world.home, "n/bin/node"), "v901.0.0");
    expect(launch(world, ["--which"]).stdout).toBe(`${recorded} 900.22.0\n`);
  });

  it.each([
    ["gone", undefined],
    ["too old now", "v900.21.9"],
    ["no Node at all", "what do you want?"],
    ["one that counts from zero", "v0900.22.0"],
  ])("is said to be given up where it is %s", (_name, version) => {
    const home = tempDir();
    const recorded = join(home, "node");
    if (version !== undefined) fakeNode(recorded, `'${version}'`);
    const world = made({ record: { node: recorded } });
    const node = fakeNode(join(world.home, "n/bin/node"), "v900.23.0-nightly2026");
    const found = launch(world, ["--which"]);
    expect(found.stdout).toBe(`${node} 900.23.0\n`);
    expect(found.stderr).toBe(`touchstoned: ${recorded} will not do any more, taking ${node}\n`);
  });

  it("is not a directory, a file without its mode, or a link to nowhere", () => {
    const world = made();
    mkdirSync(join(world.home, ".nodenv/versions/1/bin/node"), { recursive: true });
    mkdirSync(join(world.home, ".asdf/installs/nodejs/1/bin"), { recursive: true });
    symlinkSync("/nowhere", join(world.home, ".asdf/installs/nodejs/1/bin/node"));
    chmodSync(fakeNode(join(world.home, "n/bin/node"), "v900.22.0"), 0o644);
    expect(launch(world, ["--which"]).status).toBe(78);
  });
});

describe("what the daemon finds around it", () => {
  const show = 'echo "$PATH|${NODE_OPTIONS-unset}|$HOME|${XDG_STATE_HOME-unset}"; exit 0';

  it("is always the same PATH, and what says where things lie", () => {
    const world = made({ record: { env: { XDG_STATE_HOME: "/a b/it's" } } });
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0", show);
    const env = { PATH: "/weird:/usr/bin:/bin", NODE_OPTIONS: "--inspect" };
    const [path, ...rest] = launch(world, ["daemon"], { env }).stdout.trim().split("|");
    expect(path).toMatch(/^\/home\/alice\/|\/usr\/local\/bin:.*\/usr\/bin:/);
    expect(path).not.toContain("/weird");
    expect(rest).toEqual(["unset", world.home, "/a b/it's"]);
  });

  it("is a person's own for every other command", () => {
    const world = made();
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0", show);
    const env = { PATH: "/weird:/usr/bin:/bin", NODE_OPTIONS: "--inspect" };
    expect(launch(world, ["status"], { env }).stdout).toContain("/weird:/usr/bin:/bin|--inspect");
  });

  it("has a home even where the manager names none", () => {
    const world = made();
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0", show);
    const shown = launch(world, ["daemon"], { env: { HOME: "" } }).stdout;
    expect(shown).toContain(`|${world.home}|`);
  });
});

describe("under cron", () => {
  it("starts nothing while it is kept from it", () => {
    const world = made();
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0");
    writeFileSync(join(world.lib, "stopped"), "");
    expect(launch(world, ["--cron", "daemon"])).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it.each(onlyIf(existsSync("/usr/bin/flock")))(
    "starts no second one, and passes on how it ended",
    () => {
      const world = made();
      // The one that runs starts the second one: it has the lock all that time.
      const inner = `if [ "$3" = inner ]; then echo second; exit 0; fi
/bin/sh '${world.launch}' --cron daemon inner; echo "inner $?"; exit 7`;
      fakeNode(join(world.home, "n/bin/node"), "v900.22.0", inner);
      expect(launch(world, ["--cron", "daemon"])).toEqual({
        status: 7,
        stdout: "inner 0\n",
        stderr: "",
      });
      expect(launch(world, ["--cron", "daemon", "inner"]).stdout).toBe("second\n");
    },
  );

  it.each(onlyIf(existsSync("/proc/self/fd")))(
    "keeps the lock to itself: no step inherits it (Linux)",
    () => {
      const world = made();
      fakeNode(join(world.home, "n/bin/node"), "v900.22.0", "readlink /proc/$$/fd/*; exit 0");
      expect(launch(world, ["--cron", "daemon"]).stdout).not.toContain("cron.lock");
    },
  );
});

describe("what is kept of its words", () => {
  it("is emptied above a megabyte, under launchd and cron alone", () => {
    const world = made();
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0");
    writeFileSync(world.log, "x".repeat(1_100_000));
    launch(world, ["daemon"]);
    expect(statSync(world.log).size).toBe(1_100_000);
    launch(world, ["--launchd", "daemon"]);
    expect(statSync(world.log).size).toBe(0);
    writeFileSync(world.log, "short");
    launch(world, ["--launchd", "daemon"]);
    expect(readFileSync(world.log, "utf8")).toBe("short");
  });
});

describe("the program", () => {
  it("runs from its sources where it is not compiled, and is missed where it is gone", () => {
    const world = made();
    fakeNode(join(world.home, "n/bin/node"), "v900.22.0");
    const bare = made();
    const { lib } = bare;
    fakeNode(join(bare.home, "n/bin/node"), "v900.22.0");
    spawnSync("rm", ["-r", join(lib, "current/dist")]);
    expect(launch(bare, ["status"])).toMatchObject({ status: 78 });
    expect(launch(bare, ["status"]).stderr).toContain(`gone from ${lib}/current`);
    mkdirSync(join(lib, "current/src/cli"), { recursive: true });
    writeFileSync(join(lib, "current/src/cli/main.ts"), "");
    expect(launch(bare, ["status"]).stdout).toContain("/current/src/cli/main.ts|status|");
    expect(launch(world, ["status"]).stdout).toContain("/current/dist/cli/main.js|status|");
  });
});
