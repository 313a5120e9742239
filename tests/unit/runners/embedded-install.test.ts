import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { packageFile } from "../../../src/core/program.ts";
import { userStateDir } from "../../../src/core/user-dirs.ts";
import {
  embeddedDir,
  embeddedInstalled,
  embeddedModuleDir,
  EMBEDDED_VERSION,
  installEmbedded,
  npmCommand,
} from "../../../src/runners/embedded/install.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A program that stands for npm: what it gets is written down, what it does is `body`. */
function fakeNpm(dir: string, body: string): [string, ...string[]] {
  const path = join(dir, "fake-npm.sh");
  writeFileSync(path, `#!/bin/sh\necho "$@" > "${dir}/args"\nls > "${dir}/files"\n${body}\n`);
  chmodSync(path, 0o755);
  return [path];
}

const INSTALLS =
  "mkdir -p node_modules/node-llama-cpp && echo '{}' > node_modules/node-llama-cpp/package.json";

test("installs from the lock file of the platform, without scripts, and says where", async () => {
  const dir = tempDir();
  const env = { XDG_STATE_HOME: join(dir, "state"), HOME: dir };
  const said: string[] = [];
  const options = { env, say: (line: string) => void said.push(line), platform: "linux-x64" };
  const report = await installEmbedded({ ...options, npm: fakeNpm(dir, INSTALLS) });
  expect(report).toEqual({ version: EMBEDDED_VERSION, dir: embeddedDir(env), installed: true });
  expect(embeddedModuleDir(env)).toBe(report.dir);
  expect(readFileSync(join(dir, "args"), "utf8")).toMatch(
    /^ci .*--omit=optional.*--ignore-scripts/,
  );
  expect(readFileSync(join(dir, "files"), "utf8").split("\n")).toEqual(
    expect.arrayContaining(["package.json", "package-lock.json"]),
  );
  expect(said.join("\n")).toContain("installing node-llama-cpp");
  expect(readdirSync(dirname(report.dir))).toEqual([EMBEDDED_VERSION]);
  const again = await installEmbedded({ ...options, npm: ["/nonexistent"] });
  expect(again.installed).toBe(false);
});

test("what fails half way leaves nothing behind and says what npm said", async () => {
  const dir = tempDir();
  const env = { XDG_STATE_HOME: join(dir, "state"), HOME: dir };
  const npm = fakeNpm(dir, `${INSTALLS}\necho "npm error 404 gone" >&2; exit 1`);
  const failing = installEmbedded({ env, say: () => undefined, platform: "linux-x64", npm });
  await expect(failing).rejects.toMatchObject({
    code: "embedded_not_installed",
    exitCode: 69,
    message: expect.stringContaining("npm error 404 gone"),
  });
  expect(embeddedInstalled(env)).toBeNull();
  expect(readdirSync(dirname(embeddedDir(env)))).toEqual([]);
  expect(() => embeddedModuleDir(env)).toThrow(/not installed/);
});

test("a platform without a lock file is refused with those that have one", async () => {
  const env = { XDG_STATE_HOME: tempDir() };
  const asked = installEmbedded({ env, say: () => undefined, platform: "win32-x64", npm: ["x"] });
  await expect(asked).rejects.toThrow(/win32-x64 \(only for linux-x64/);
});

test.each(["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64"])(
  "the lock file for %s pins the library and its one platform package, and names no server",
  (platform) => {
    const dir = packageFile(`installers/embedded/${platform}`);
    const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
    const text = readFileSync(join(dir, "package-lock.json"), "utf8");
    const names = Object.keys(manifest.dependencies);
    expect(names).toHaveLength(2);
    expect(Object.values(manifest.dependencies)).toEqual([EMBEDDED_VERSION, EMBEDDED_VERSION]);
    expect(text).not.toContain("resolved");
    const { packages } = JSON.parse(text);
    for (const name of names) {
      expect(packages[`node_modules/${name}`]).toMatchObject({
        version: EMBEDDED_VERSION,
        integrity: expect.stringMatching(/^sha512-/),
      });
      expect(packages[`node_modules/${name}`].optional).toBeUndefined();
    }
  },
);

test("npm is the one of the running Node, else the one on PATH", () => {
  const dir = tempDir();
  const bin = join(dir, "bin");
  mkdirSync(bin);
  const node = join(bin, "node");
  expect(() => npmCommand(node, { PATH: "" })).toThrow(/npm was found neither/);
  const other = join(dir, "other");
  mkdirSync(other);
  writeFileSync(join(other, "npm"), "");
  expect(npmCommand(node, { PATH: `/none:${other}` })).toEqual([join(other, "npm")]);
  const script = join(dir, "lib/node_modules/npm/bin/npm-cli.js");
  mkdirSync(dirname(script), { recursive: true });
  writeFileSync(script, "");
  expect(npmCommand(node, { PATH: other })).toEqual([node, script]);
});

test("the user's state directory follows XDG, and a relative value counts as not set", () => {
  expect(userStateDir({ HOME: "/h", XDG_STATE_HOME: "/s" }, "linux")).toBe("/s/touchstoned");
  expect(userStateDir({ HOME: "/h", XDG_STATE_HOME: "s" }, "linux")).toBe(
    "/h/.local/state/touchstoned",
  );
  expect(userStateDir({ HOME: "/h" }, "darwin")).toBe("/h/Library/Application Support/touchstoned");
  expect(() => userStateDir({ HOME: "" }, "linux")).toThrow('HOME: "" is not an absolute path');
});
