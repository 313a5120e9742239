import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveLockPath } from "../../../src/station/lock-path.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

describe("resolveLockPath", () => {
  it("goes by the variable, machine.yaml, the system's directory, the user's own", () => {
    const home = tempDir();
    const system = join(home, "system");
    const env = { HOME: home, XDG_STATE_HOME: join(home, "state") };
    const named = { ...env, TOUCHSTONED_LOCK: "/a/lock" };
    const machine = { lock_path: "/b/lock" };
    expect(resolveLockPath(named, machine, system)).toMatchObject({
      path: "/a/lock",
      source: "environment",
    });
    expect(resolveLockPath(env, machine, system)).toMatchObject({
      path: "/b/lock",
      source: "machine.yaml",
    });
    const own = resolveLockPath(env, {}, system);
    expect(own).toMatchObject({
      path: join(home, "state", "touchstoned", "model.lock"),
      source: "user",
    });
    expect(own.why).toContain(`there is no ${system}`);
    expect(statSync(join(home, "state", "touchstoned")).mode & 0o777).toBe(0o700);
    mkdirSync(system);
    expect(resolveLockPath(env, {}, system)).toMatchObject({
      path: join(system, "model.lock"),
      source: "system",
    });
  });

  it("passes over a system directory that cannot be used, and says so", () => {
    const home = tempDir();
    const system = join(home, "system");
    writeFileSync(system, "a file where the directory should be");
    const place = resolveLockPath({ HOME: home }, {}, join(system, "deeper"));
    expect(place.source).toBe("user");
    expect(place.why).toContain("there is no");
  });

  it("refuses a relative path in the variable", () => {
    expect(() => resolveLockPath({ TOUCHSTONED_LOCK: "model.lock" }, {})).toThrow(
      "is not an absolute path",
    );
  });
});
