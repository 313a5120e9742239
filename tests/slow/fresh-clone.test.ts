import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { PROJECT_ROOT } from "../helpers/project-files.ts";

// What a newcomer types, in a clone of what is committed, by the machine's own Node (whatever it
// is) and npm. Takes minutes: `npm ci` for real.

let clone = "";

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "touchstoned-clone-"));
  execFileSync("git", ["clone", "--quiet", PROJECT_ROOT, clone]);
  return () => rmSync(clone, { recursive: true, force: true });
});

/** The path without the pinned Node of this project, which a newcomer does not have. */
function ownPath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((folder) => !folder.includes("node_modules")).join(":");
}

function npm(...args: string[]) {
  return spawnSync("npm", args, {
    cwd: clone,
    encoding: "utf8",
    env: { PATH: ownPath(), HOME: process.env["HOME"] },
    maxBuffer: 1 << 28,
  });
}

describe("a fresh clone", () => {
  it("has nothing but what is committed", () => {
    expect(existsSync(join(clone, "node_modules"))).toBe(false);
  });

  it("shows the demo with one command", () => {
    const demo = npm("run", "demo");
    expect(demo.stderr).toMatch(/setup: npm ci took [\d.]+ s/);
    expect(demo.stdout + demo.stderr).toContain("2 of 2 ok");
    expect(demo.status).toBe(0);
  });

  it("does not install again for the tests", () => {
    const test = npm("test", "--", "tests/unit/project");
    expect(test.stderr).not.toContain("setup: npm ci");
    expect(test.stdout).toMatch(/^\d+ passed, 0 failed, \d+ skipped$/m);
    expect(test.status).toBe(0);
  });
});
