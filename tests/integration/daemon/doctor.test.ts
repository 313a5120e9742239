import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { CHECKS } from "../../../src/daemon/doctor/table.ts";
import { runDoctor, type DoctorReport } from "../../../src/daemon/index.ts";
import { stateFiles } from "../../../src/daemon/files.ts";
import { locateState } from "../../../src/station/light.ts";
import { openSqliteStore } from "../../../src/store/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { command, isolatedEnv } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { take } from "../../helpers/lock.ts";
import { jobsOf, submissionOf } from "../../helpers/store-fixtures.ts";
import { testStation, type TestStation } from "../../helpers/station.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

type Setting = Pick<TestStation, "root" | "env">;

async function doctor({ root, env }: Setting, ...more: string[]): Promise<DoctorReport> {
  const setting = { cwd: root, env };
  const run = await command(["doctor", "--json", ...more], setting);
  expect(run.stderr).toBe("");
  const report = JSON.parse(run.stdout) as DoctorReport;
  expect(run.exit_code).toBe(report.ok ? 0 : 1);
  expect(report.ok).toBe(report.counts.failure === 0);
  for (const { level, todo, text } of report.lines) {
    expect(todo === null, text).toBe(level === "ok");
  }
  return report;
}

function of(report: DoctorReport, check: string): string {
  const lines = report.lines.filter((line) => line.check === check);
  return lines.map(({ level, text, todo }) => `${level}: ${text} -> ${todo ?? ""}`).join("\n");
}

/** A station made by `init`, with a runner that answers. */
async function goodStation(): Promise<TestStation & { state_dir: string }> {
  const { url } = await fakeLlamaServer({ model: "made" });
  const runners = [{ name: "local", kind: "llama-server", url }];
  const machine = JSON.stringify({ trusted_stations: ["ROOT"], runners });
  const station = testStation({ policy: "schema_version: 1\n", machine });
  const { root: cwd, env } = station;
  expect((await command(["init", cwd], { cwd, env })).exit_code).toBe(0);
  return { ...station, state_dir: locateState({ explicit: undefined, cwd, env }).state_dir };
}

describe("touchstoned doctor", () => {
  it("finds no failure in a good station, looks at everything, and makes nothing", async () => {
    const station = await goodStation();
    const all = (): string[] => readdirSync(station.home, { recursive: true, encoding: "utf8" });
    const before = new Set(all());
    const report = await doctor(station);
    expect(of(report, "runners")).toContain("ok: runner local (llama-server): b1-fake");
    expect(report).toMatchObject({ ok: true, not_looked_at: [], station: station.root });
    expect([...new Set(report.lines.map(({ check }) => check))]).toEqual(
      CHECKS.map(({ name }) => name),
    );
    expect(new Set(all())).toEqual(before);
  });

  it("warns of a runner that a calibration had stopped, but not while one is at work", async () => {
    const runners = [{ name: "desk", kind: "llama-server", url: "http://127.0.0.1:9" }];
    const machine = JSON.stringify({ trusted_stations: ["ROOT"], runners });
    const station = testStation({ policy: "schema_version: 1\n", machine });
    const { root: cwd, env } = station;
    const { state_dir } = locateState({ explicit: undefined, cwd, env });
    mkdirSync(join(state_dir, "slots"), { recursive: true, mode: 0o700 });
    writeFileSync(join(state_dir, "slots", "stopped-desk"), "desk\n");
    const warned = "warning: runner desk was stopped for a calibration that was killed";
    expect(of(await doctor(station), "runners")).toContain(warned);
    const measuring = await take(env["TOUCHSTONED_LOCK"] ?? "");
    expect(of(await doctor(station), "runners")).not.toContain(warned);
    measuring.release();
  });

  it("says where there is no station, and what it could not look at", async () => {
    const home = tempDir();
    const report = await doctor({ root: home, env: isolatedEnv(home) });
    expect(of(report, "station")).toContain("failure: no station: neither");
    expect(report.not_looked_at).toContain("store");
    expect(report).toMatchObject({ ok: false, station: null });
    expect(of(report, "node")).toContain("ok:");
  });

  it("tells every fault of both files, and still looks at the rest", async () => {
    const station = testStation({
      policy: "limitz: {}\ninbox: {min_age_seconds: -1}\n",
      machine: "runners: [{name: a b, kind: ollama}]\n",
    });
    const said = of(await doctor(station), "station");
    expect(said).toContain("limitz");
    expect(said).toContain("min_age_seconds");
    expect(said).toContain("machine.yaml:1:");
    expect(of(await doctor(station), "disk")).toContain("ok:");
  });

  it.each([
    ["HOME", "here", "HOME"],
    ["TOUCHSTONED_STATION", "bench", "TOUCHSTONED_STATION"],
    ["TOUCHSTONED_MACHINE_CONFIG", "machine.yaml", "TOUCHSTONED_MACHINE_CONFIG"],
    ["TOUCHSTONED_LOCK", "model.lock", "TOUCHSTONED_LOCK"],
  ])("tells of a %s that is no path, and is not ended by it", async (name, value, said) => {
    const station = await goodStation();
    const report = await doctor({ ...station, env: { ...station.env, [name]: value } });
    expect(report.ok).toBe(false);
    expect(report.lines.find(({ level }) => level === "failure")?.text).toContain(said);
    expect(of(report, "node")).toContain("ok:");
  });

  it("fails where the station is not trusted, with the command that mends it", async () => {
    const station = await goodStation();
    chmodSync(station.root, 0o777);
    expect(of(await doctor(station), "station")).toContain(`-> Run: chmod go-w ${station.root}`);
  });

  it("fails where others may write the state, or the inbox", async () => {
    const station = await goodStation();
    mkdirSync(station.state_dir, { recursive: true });
    chmodSync(station.state_dir, 0o777);
    chmodSync(join(station.root, "inbox"), 0o777);
    const report = await doctor(station);
    expect(of(report, "folders")).toContain(`-> Run: chmod go-w ${station.state_dir}`);
    expect(of(report, "inbox")).toContain("failure: nothing is taken up from the inbox");
  });

  it("fails for a store that cannot be read, and leaves it as it is", async () => {
    const station = await goodStation();
    mkdirSync(station.state_dir, { recursive: true, mode: 0o700 });
    const { store } = stateFiles(station.state_dir);
    writeFileSync(store, "no database".repeat(1000));
    const report = await doctor(station);
    expect(of(report, "store")).toContain("queue rebuild");
    expect(readdirSync(station.state_dir)).toEqual(["queue.db"]);
    expect(of(report, "evidence")).toContain("ok:");
  });

  it("checks what fsck checks", async () => {
    const station = await goodStation();
    const files = stateFiles(station.state_dir);
    mkdirSync(station.state_dir, { recursive: true, mode: 0o700 });
    const now_ms = systemClock.now_ms();
    const { store } = await openSqliteStore({ path: files.store, now_ms, role: "owner" });
    await store.accept(submissionOf("S"), jobsOf("S", [{}]));
    await store.close();
    expect(of(await doctor(station), "store")).toContain("ok: the store is whole");
    const lost = join(station.state_dir, "runs", "x");
    mkdirSync(lost, { recursive: true });
    writeFileSync(join(lost, "submission.json"), "{");
    expect(of(await doctor(station), "store")).toContain("failure: the queue breaks a promise");
  });

  it("prints the worst last, above a verdict", async () => {
    const home = tempDir();
    const run = await command(["doctor"], { cwd: home, env: isolatedEnv(home) });
    expect(run.exit_code).toBe(1);
    const lines = run.stdout.trim().split("\n");
    expect(lines[0]).toMatch(/^ok +node /);
    expect(lines.at(-3)).toMatch(/^FAILURE +station +no station/);
    expect(lines.at(-2)).toMatch(/^ +-> /);
    expect(lines.at(-1)).toMatch(/^1 failure, .*not looked at until then: /);
  });
});

describe("a check", () => {
  const options = { env: {}, cwd: "/", explicit: undefined };

  it("that throws is a failure, and the next one is looked at", async () => {
    const check = (name: string, run: () => never | []) => ({ name, about: name, run });
    const checks = [
      check("a", () => {
        throw new TypeError("odd");
      }),
      check("b", () => []),
      { name: "c", about: "c", run: () => null },
    ];
    const report = await runDoctor({ ...options, clock: systemClock }, checks);
    expect(report.lines).toMatchObject([{ check: "a", level: "failure", text: "odd" }]);
    expect(report.not_looked_at).toEqual(["c"]);
  });

  it("that does not come to an end is one, too", async () => {
    const clock = new FakeClock({ jumpSleeps: true });
    const stuck = { name: "a", about: "the disk", run: () => new Promise<never>(() => undefined) };
    const report = await runDoctor({ ...options, clock }, [stuck]);
    expect(report.lines[0]?.text).toBe("the disk: no answer within 60 s");
  });

  it("has a name of its own that scripts can go by", () => {
    const names = CHECKS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
