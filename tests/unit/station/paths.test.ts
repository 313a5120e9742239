import { describe, expect, it, test } from "vitest";
import {
  isInside,
  machineConfigPath,
  pathVariable,
  toolEnv,
  userPaths,
  userStation,
} from "../../../src/station/paths.ts";

const HOME = { HOME: "/home/ann" };

describe("userPaths", () => {
  it("are the XDG defaults on Linux", () => {
    expect(userPaths(HOME, "linux")).toEqual({
      home: "/home/ann",
      config_dir: "/home/ann/.config/touchstoned",
      state_dir: "/home/ann/.local/state/touchstoned",
      data_dir: "/home/ann/.local/share/touchstoned",
    });
  });

  it("follow the XDG variables, but not relative or empty ones", () => {
    const env = { ...HOME, XDG_CONFIG_HOME: "/c", XDG_STATE_HOME: "state", XDG_DATA_HOME: "" };
    expect(userPaths(env, "linux")).toMatchObject({
      config_dir: "/c/touchstoned",
      state_dir: "/home/ann/.local/state/touchstoned",
      data_dir: "/home/ann/.local/share/touchstoned",
    });
  });

  it("are one directory in Application Support on macOS, whatever XDG says", () => {
    const support = "/home/ann/Library/Application Support/touchstoned";
    const paths = userPaths({ ...HOME, XDG_CONFIG_HOME: "/c" }, "darwin");
    expect(paths).toMatchObject({ config_dir: support, state_dir: support, data_dir: support });
  });
});

describe("paths from variables", () => {
  it("name machine.yaml and nothing else", () => {
    expect(machineConfigPath({ TOUCHSTONED_MACHINE_CONFIG: "/m.yaml" })).toBe("/m.yaml");
    expect(machineConfigPath(HOME)).toMatch(/touchstoned\/machine\.yaml$/);
    expect(userStation(HOME)).toMatch(/touchstoned\/station$/);
  });

  it.each(["machine.yaml", "~/machine.yaml", "/m\0.yaml"])("refuse %j", (value) => {
    expect(() => pathVariable({ X: value }, "X")).toThrow(
      expect.objectContaining({ code: "bad_config", exitCode: 78 }),
    );
  });

  it("take an empty one for one that is not set", () => {
    expect(pathVariable({ X: "" }, "X")).toBeUndefined();
  });
});

describe("isInside", () => {
  it.each([
    ["/a", "/a", true],
    ["/a", "/a/b/c", true],
    ["/a", "/a/..b", true],
    ["/a", "/ab", false],
    ["/a", "/", false],
    ["/a/b", "/a/c", false],
    ["/", "/etc", true],
  ])("%s, %s: %s", (root, path, wanted) => {
    expect(isInside(root, path)).toBe(wanted);
  });
});

describe("toolEnv", () => {
  it("keeps of PATH what is absolute and not the repository's, and nothing else", () => {
    const env = {
      PATH: ".:/usr/bin::/repo/bin:bin:/repository",
      GIT_DIR: "/evil",
      LD_PRELOAD: "x",
    };
    expect(toolEnv(env, "/repo")).toEqual({ PATH: "/usr/bin:/repository", LC_ALL: "C" });
    expect(toolEnv({}).PATH).toBe("/usr/local/bin:/usr/bin:/bin");
  });
});

test.each([
  ["", "empty"],
  ["home", "relative"],
])('HOME="%s" (%s) is refused: files would land where we are', (home) => {
  expect(() => userPaths({ HOME: home })).toThrow(/HOME: ".*" is not an absolute path/);
});
