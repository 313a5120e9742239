import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECT_ROOT } from "../../helpers/project-files.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

// `npm ci` itself is tried for real by tests/slow/fresh-clone.test.ts; here stands a stand-in for
// npm that writes down how it was called, for the faults that the real one seldom has.

const PIN = "24.99.0";

interface Setting {
  /** What the stand-in for npm leaves behind. */
  npm?: "works" | "fails" | "skips install scripts";
  engines?: string;
}

function executable(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

function lock(version: string): string {
  const library = { version: "1.0.0" };
  return JSON.stringify({
    packages: { "": {}, "node_modules/node": { version }, "node_modules/library": library },
  });
}

/** A project with nothing but the bootstrap, a script to run and a stand-in for npm. */
function project(setting: Setting = {}) {
  const root = tempDir();
  for (const folder of ["scripts", "bin"]) mkdirSync(join(root, folder));
  copyFileSync(join(PROJECT_ROOT, "scripts/bootstrap.mjs"), join(root, "scripts/bootstrap.mjs"));
  const engines = { node: setting.engines ?? ">=22.22" };
  writeFileSync(join(root, "package.json"), JSON.stringify({ name: "x", engines }));
  writeFileSync(join(root, "package-lock.json"), lock(PIN));
  writeFileSync(
    join(root, "scripts/work.mjs"),
    `console.log("worked", process.env.PINNED ?? "own", ...process.argv.slice(2)); process.exit(7);`,
  );
  const pinned = `#!/bin/sh\n[ "$1" = --version ] && { echo v${PIN}; exit; }\nPINNED=pinned exec "${process.execPath}" "$@"\n`;
  writeFileSync(join(root, "pinned"), pinned);
  const install =
    setting.npm === "fails"
      ? "echo 'npm error network' >&2; exit 1"
      : "mkdir -p node_modules/.bin; cp package-lock.json node_modules/.package-lock.json";
  const node =
    setting.npm === "skips install scripts"
      ? ""
      : "cp pinned node_modules/.bin/node; chmod +x node_modules/.bin/node";
  executable(join(root, "bin/npm"), `#!/bin/sh\necho "$1" >> npm.log\n${install}\n${node}\n`);
  const run = (...args: string[]) =>
    spawnSync(
      process.execPath,
      [join(root, "scripts/bootstrap.mjs"), "scripts/work.mjs", ...args],
      {
        encoding: "utf8",
        env: { ...process.env, PATH: `${join(root, "bin")}:${process.env["PATH"]}` },
      },
    );
  const calls = (): string[] =>
    existsSync(join(root, "npm.log"))
      ? readFileSync(join(root, "npm.log"), "utf8").trim().split("\n")
      : [];
  return { root, run, calls };
}

describe("bootstrap", () => {
  it("installs what is missing and hands over to the pinned Node, arguments and status too", () => {
    const { run, calls } = project();
    const first = run("--flag", "two words");
    expect(first.stdout).toBe("worked pinned --flag two words\n");
    expect(first.status).toBe(7);
    expect(first.stderr).toMatch(/node_modules is not there.*npm ci.*npm ci took [\d.]+ s/s);
    expect(calls()).toEqual(["ci"]);
  });

  it("installs nothing where everything is there, and says nothing", () => {
    const { run, calls } = project();
    run();
    const second = run();
    expect(second.stderr).toBe("");
    expect(second.stdout).toBe("worked pinned\n");
    expect(calls()).toEqual(["ci"]);
  });

  it("installs again after package-lock.json has changed, and says what differs", () => {
    const { root, run, calls } = project();
    run();
    writeFileSync(join(root, "package-lock.json"), lock(PIN).replace("1.0.0", "1.0.1"));
    const second = run();
    expect(second.stderr).toContain(
      "node_modules/library is 1.0.0, package-lock.json asks for 1.0.1",
    );
    expect(calls()).toEqual(["ci", "ci"]);
  });

  it("stops where npm ci fails", () => {
    const { run } = project({ npm: "fails" });
    const result = run();
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/npm error network.*failed: it ended with 1/s);
    expect(result.stdout).toBe("");
  });

  it("goes on with its own Node where the pinned one cannot be had", () => {
    const { run, calls } = project({ npm: "skips install scripts" });
    const result = run();
    expect(result.stdout).toBe("worked own\n");
    expect(result.stderr).toContain(
      `going on with Node ${process.versions.node} instead of ${PIN}`,
    );
    expect(calls()).toEqual(["ci", "rebuild"]);
  });

  it("says what to do where its own Node is too old as well, and exits 78", () => {
    const { run } = project({ npm: "skips install scripts", engines: ">=99.0" });
    const result = run();
    expect(result.status).toBe(78);
    expect(result.stderr).toContain("Install a newer Node from https://nodejs.org");
  });
});
