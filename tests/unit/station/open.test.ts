import { chmodSync, cpSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findStation, openStation } from "../../../src/station/index.ts";
import { testStation } from "../../helpers/station.ts";

const TRUSTED = "trusted_stations: [ROOT]\n";

describe("findStation", () => {
  it("goes by option, variable, nearest parent, the user's own, in this order", () => {
    const { root, home, env } = testStation({ policy: "" });
    const cwd = join(root, "deep", "er");
    mkdirSync(cwd, { recursive: true });
    const own = join(home, "data", "touchstoned", "station");
    const named = { ...env, TOUCHSTONED_STATION: "/named" };
    expect(findStation({ explicit: "x", env: named, cwd })).toBe(join(cwd, "x"));
    expect(findStation({ env: named, cwd })).toBe("/named");
    expect(findStation({ env, cwd })).toBe(root);
    expect(findStation({ env, cwd: home })).toBeUndefined();
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "touchstoned.yaml"), "");
    expect(findStation({ env, cwd: home })).toBe(own);
    expect(findStation({ env, cwd })).toBe(root);
  });

  it("stops at a touchstoned.yaml that is no file, to have it refused", () => {
    const { root, home, env } = testStation();
    writeFileSync(join(home, "touchstoned.yaml"), "");
    symlinkSync("/nowhere", join(root, "touchstoned.yaml"));
    expect(findStation({ env, cwd: root })).toBe(root);
  });

  it("refuses a relative path in the variable", () => {
    const { env } = testStation();
    expect(() => findStation({ env: { ...env, TOUCHSTONED_STATION: "here" }, cwd: "/" })).toThrow(
      'TOUCHSTONED_STATION: "here" is not an absolute path',
    );
  });
});

describe("openStation", () => {
  it("opens a trusted station and makes its directories, for the user alone", async () => {
    const { root, home, env } = testStation({ policy: "", machine: TRUSTED });
    const station = await openStation({ env, cwd: root });
    expect(station).toMatchObject({ root, trusted: true, trust_reason: null });
    expect(station.id).toMatch(/^station-[0-9a-f]{12}$/);
    expect(station.state_dir).toBe(join(home, "state", "touchstoned", station.id));
    expect(station.runs_dir).toBe(join(station.state_dir, "runs"));
    expect(statSync(station.state_dir).mode & 0o777).toBe(0o700);
    expect(statSync(station.runs_dir).mode & 0o777).toBe(0o700);
  });

  it("gives a copy of the station elsewhere another state", async () => {
    const { root, home, env } = testStation({ policy: "", machine: TRUSTED });
    const other = join(home, "elsewhere", "station");
    cpSync(root, other, { recursive: true });
    const [a, b] = [
      await openStation({ env, cwd: root, read_only: true }),
      await openStation({ env, cwd: other, read_only: true }),
    ];
    expect(a.state_dir).not.toBe(b.state_dir);
    expect(b.trusted).toBe(false);
  });

  it("is the same station by way of a link", async () => {
    const { root, home, env } = testStation({ policy: "", machine: TRUSTED });
    symlinkSync(root, join(home, "alias"));
    const station = await openStation({ explicit: join(home, "alias"), env, cwd: "/" });
    expect(station).toMatchObject({ root, trusted: true });
  });

  it("puts runs where machine.yaml says, apart from other stations' runs", async () => {
    const made = testStation({ policy: "", machine: `${TRUSTED}runs_dir: ROOT/../runs\n` });
    const station = await openStation({ env: made.env, cwd: made.root });
    expect(station.runs_dir).toBe(join(made.home, "runs", station.id));
  });

  it("makes nothing when it only looks", async () => {
    const { root, env } = testStation({ policy: "", machine: TRUSTED });
    const { state_dir } = await openStation({ env, cwd: root, read_only: true });
    expect(statSync(state_dir, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("opens a station that is not trusted, and says what to do", async () => {
    const { root, env, machine_path } = testStation({ policy: "" });
    const { trusted, trust_reason } = await openStation({ env, cwd: root });
    expect(trusted).toBe(false);
    expect(trust_reason).toContain(`touchstoned init ${root}`);
    expect(trust_reason).toContain(machine_path);
  });

  it.each([
    ["touchstoned.yaml", 0o666],
    [".", 0o777],
  ])("does not trust a station whose %s others may write", async (name, mode) => {
    const { root, env } = testStation({ policy: "", machine: TRUSTED });
    chmodSync(join(root, name), mode);
    const station = await openStation({ env, cwd: root });
    expect(station.trusted).toBe(false);
    expect(station.trust_reason).toContain(`chmod go-w ${join(root, name)}`);
  });

  it("believes nothing in a machine.yaml that others may write", async () => {
    const { root, env, machine_path } = testStation({ policy: "", machine: TRUSTED });
    chmodSync(machine_path, 0o666);
    await expect(openStation({ env, cwd: root })).rejects.toThrow(`chmod go-w ${machine_path}`);
    chmodSync(machine_path, 0o600);
    chmodSync(join(machine_path, ".."), 0o777);
    await expect(openStation({ env, cwd: root })).rejects.toMatchObject({ exitCode: 78 });
  });

  it("refuses a state directory that others may write", async () => {
    const { root, env } = testStation({ policy: "", machine: TRUSTED });
    const { state_dir } = await openStation({ env, cwd: root });
    chmodSync(state_dir, 0o777);
    await expect(openStation({ env, cwd: root })).rejects.toThrow(`chmod go-w ${state_dir}`);
  });

  it("refuses a station that would hold the state or machine.yaml", async () => {
    const { home, env } = testStation({ machine: "" });
    writeFileSync(join(home, "touchstoned.yaml"), "");
    await expect(openStation({ env, cwd: home })).rejects.toMatchObject({ code: "nested_station" });
  });

  it("says that there is no station, or that a directory is none", async () => {
    const { home, env } = testStation();
    await expect(openStation({ env, cwd: home })).rejects.toMatchObject({
      code: "no_station",
      exitCode: 78,
    });
    await expect(openStation({ explicit: "station", env, cwd: home })).rejects.toThrow(
      "is no station",
    );
  });
});
