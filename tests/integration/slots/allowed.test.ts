import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AllowedAnswer } from "../../../src/evidence/fast.ts";
import { command, type CommandRun } from "../../helpers/command.ts";
import { fakeServer, type FakeServer, type Recorded, type Reply } from "../../helpers/fake-http.ts";
import { makeMeasured, measure, type ServerIdentity } from "../../helpers/measured.ts";
import { slotsStation, writePolicy, type MeasuredStation } from "../../helpers/measured-station.ts";
import { evidenceText } from "../../../src/evidence/index.ts";

const SERVER: ServerIdentity = {
  kind: "llama-server",
  version: "b1-fake",
  model: { id: "fake", digest: null },
  context_per_slot: 1024,
};

const PROPS = {
  total_slots: 4,
  build_info: "b1-fake",
  model_alias: "fake",
  default_generation_settings: { n_ctx: 1024 },
};

interface Production {
  server: FakeServer;
  /** What `/props` answers; anything else than an object is a fault. */
  props: Record<string, unknown> | Reply;
}

async function production(): Promise<Production> {
  const state: { props: Production["props"] } = { props: PROPS };
  const server = await fakeServer((request: Recorded) => {
    if (request.path !== "/props") return undefined;
    return "status" in state.props ? state.props : { body: state.props };
  });
  return Object.assign(state, { server });
}

function ask(station: MeasuredStation, ...more: string[]): Promise<CommandRun> {
  return command(["slots", "allowed", ...more], { cwd: station.root, env: station.env });
}

async function answer(station: MeasuredStation): Promise<AllowedAnswer> {
  const ended = await ask(station, "--json");
  expect(ended.exit_code).toBe(0);
  return JSON.parse(ended.stdout) as AllowedAnswer;
}

/** A station beside a server of four slots, where two were measured to be good. */
async function measured(days_ago = 0) {
  const running = await production();
  const station = slotsStation({ kind: "llama-server", url: running.server.url });
  const { path, evidence } = await measure(station.state_dir, SERVER, days_ago);
  return { running, station, path, evidence };
}

describe("slots allowed", () => {
  it("asks nothing where 1 is declared, and needs no runner for it", async () => {
    const running = await production();
    const station = slotsStation({ kind: "llama-server", url: running.server.url }, {});
    expect(await ask(station)).toMatchObject({
      exit_code: 0,
      stdout: "1\n",
      stderr: "slots: 1 at once: concurrent_runs is 1, so nothing was asked\n",
    });
    expect(running.server.requests).toEqual([]);
  });

  it("is what was measured; a measurement is asked for once where there is none", async () => {
    const { station, running } = await measured();
    expect((await ask(station)).stdout).toBe("2\n");
    const requests = join(station.state_dir, "requests");
    expect(existsSync(requests)).toBe(false);
    running.props = { ...PROPS, build_info: "b2-fake" };
    const first = await answer(station);
    expect(first).toMatchObject({ allowed: 1, wants_measurement: true });
    expect(first.reason).toContain("the runner's version was b1-fake and is b2-fake");
    const [name = ""] = readdirSync(requests);
    const text = readFileSync(join(requests, name), "utf8");
    expect(JSON.parse(text)).toMatchObject({ runner: "local", model: "fake" });
    expect(first.request).toBe(join(requests, name));
    running.props = { ...PROPS, build_info: "b3-fake" };
    expect((await answer(station)).request).toBe(join(requests, name));
    expect(readdirSync(requests)).toEqual([name]);
    expect(readFileSync(join(requests, name), "utf8")).toBe(text);
  });

  it("asks for no measurement that would be of another context, and says what to do", async () => {
    const { url } = (await production()).server;
    const calibration = { model_file: "/models/fake.gguf", context_length: 512 };
    const station = slotsStation({ kind: "llama-server", url, calibration });
    const requests = join(station.state_dir, "requests");
    const { reason, request, notes } = await answer(station);
    expect(reason).toContain(
      "the calibration of runner local in machine.yaml has 512 tokens a slot, production 1024: `touchstoned slots calibrate --runner local --context 1024` measures that; with context_length: 1024 there it is measured by itself",
    );
    expect({ request, notes }).toEqual({ request: null, notes: [] });
    expect(existsSync(requests)).toBe(false);
    const right = { ...calibration, context_length: 1024 };
    const other = slotsStation({ kind: "llama-server", url, calibration: right });
    expect((await answer(other)).request).not.toBeNull();
    const itself = slotsStation({ kind: "llama-server", url, calibrate_production: true });
    expect((await answer(itself)).request).not.toBeNull();
  });

  it("takes a number for a ceiling, and refuses it with --strict", async () => {
    const { station } = await measured();
    writePolicy(station, { local_models: { concurrent_runs: 8 } });
    expect(await ask(station)).toMatchObject({ exit_code: 0, stdout: "2\n" });
    expect(await ask(station, "--strict")).toMatchObject({ exit_code: 3, stdout: "2\n" });
    writePolicy(station, { local_models: { concurrent_runs: 2 } });
    expect(await ask(station, "--strict")).toMatchObject({ exit_code: 0, stdout: "2\n" });
  });

  it("judges again where today's bounds are tighter", async () => {
    const { station } = await measured();
    const bounds = { memory_ceiling: 0.6 };
    writePolicy(station, { local_models: { concurrent_runs: "measured" }, slots: { bounds } });
    const { allowed, reason, wants_measurement } = await answer(station);
    expect(allowed).toBe(1);
    expect(reason).toContain(
      "the bounds of today are tighter than those of then, by which it was 2",
    );
    expect(reason).toContain("the ceiling is 60 %");
    expect(wants_measurement).toBe(false);
  });

  it.each([
    ["of yesterday", 1, 2, "2 measured 1 day ago"],
    ["of day 29", 29, 2, "2 measured 29 days ago"],
    ["of day 31", 31, 1, "its oldest measurement is 31 days old; 30 is the limit"],
  ])("takes evidence %s for what it is", async (_, days, allowed, reason) => {
    const { station } = await measured(days);
    const said = await answer(station);
    expect(said.allowed).toBe(allowed);
    expect(said.reason).toContain(reason);
    expect(said.wants_measurement).toBe(allowed === 1);
  });

  it("believes nothing that was edited by a byte, and believes it again when that is undone", async () => {
    const { station, path } = await measured();
    const text = readFileSync(path, "utf8");
    expect((await ask(station)).stdout).toBe("2\n");
    writeFileSync(path, text.replace('"recommended":2', '"recommended":3'));
    const edited = await answer(station);
    expect(edited.allowed).toBe(1);
    expect(edited.reason).toContain("its signature does not fit");
    writeFileSync(path, text);
    expect((await ask(station)).stdout).toBe("2\n");
  });

  it("believes no evidence of another device", async () => {
    const { station, path } = await measured();
    const other = slotsStation({ kind: "llama-server", url: "http://127.0.0.1:9" });
    writeFileSync(path, evidenceText(await makeMeasured(other.state_dir, SERVER)));
    const { allowed, reason } = await answer(station);
    expect(allowed).toBe(1);
    expect(reason).toMatch(/it is of device [0-9a-f]{16}, whose key is not among/);
    // Nor its own any more, once the key is lost.
    renameSync(join(station.state_dir, "device.key"), join(station.home, "lost.key"));
    expect((await answer(station)).reason).toContain("this device has no key");
  });

  it("trusts no clock that was set back", async () => {
    const { station } = await measured();
    expect((await ask(station)).stdout).toBe("2\n");
    const seen = join(station.state_dir, "slots", "seen.json");
    const value = JSON.parse(readFileSync(seen, "utf8")) as { latest: Record<string, number> };
    // As if this had been asked two days ahead of now, before the clock was set back.
    for (const name of Object.keys(value.latest)) value.latest[name] = Date.now() + 172_800_000;
    writeFileSync(seen, JSON.stringify(value));
    expect((await answer(station)).reason).toContain("the clock was set back");
    // New evidence was measured after that, whatever the clock shows.
    await measure(station.state_dir, SERVER);
    expect((await ask(station)).stdout).toBe("2\n");
  });

  it("holds over a hiccup of the runner, but not without an answer before it", async () => {
    const { station, running } = await measured();
    running.props = { status: 500, body: "" };
    const never = await answer(station);
    expect(never.allowed).toBe(1);
    expect(never.reason).toContain("what runner local has cannot be read: /props: status 500");
    running.props = PROPS;
    expect((await answer(station)).allowed).toBe(2);
    running.props = { status: 503, body: { error: { message: "Loading model" } } };
    const held = await answer(station);
    expect(held).toMatchObject({ allowed: 2, live: { slots: 4, held_s: expect.any(Number) } });
    expect(held.notes.join("\n")).toContain("still counts");
    // Fewer slots count at once, and so does an answer that says no.
    running.props = { ...PROPS, total_slots: 1 };
    expect((await answer(station)).allowed).toBe(1);
    running.props = { ...PROPS, model_alias: "other" };
    writePolicy(station, { local_models: { concurrent_runs: "measured", model: "fake" } });
    expect((await answer(station)).reason).toContain('it serves other, not "fake"');
  });

  it("forgets what a runner said longer than ten minutes ago, and in another boot", async () => {
    const { station, running } = await measured();
    expect((await answer(station)).allowed).toBe(2);
    running.props = { status: 500, body: "" };
    const seen = join(station.state_dir, "slots", "seen.json");
    const text = readFileSync(seen, "utf8");
    const value = JSON.parse(text) as { live: Record<string, { uptime_s: number }> };
    for (const live of Object.values(value.live)) live.uptime_s -= 601;
    writeFileSync(seen, JSON.stringify(value));
    expect((await answer(station)).allowed).toBe(1);
    writeFileSync(seen, text.replace(/"boot_id":"[^"]+"/, '"boot_id":"another"'));
    expect((await answer(station)).allowed).toBe(1);
    writeFileSync(seen, text);
    expect((await answer(station)).allowed).toBe(2);
  });

  it("is 1 in a station that is not trusted, whose policy is broken, or that is none", async () => {
    const { station } = await measured();
    expect((await ask(station)).stdout).toBe("2\n");
    const machine = readFileSync(station.machine_path, "utf8");
    writeFileSync(
      station.machine_path,
      machine.replace(/"trusted_stations":\[[^\]]*\]/, '"trusted_stations":[]'),
    );
    expect((await answer(station)).reason).toContain("the station is not trusted");
    writeFileSync(station.machine_path, machine);
    writeFileSync(join(station.root, "touchstoned.yaml"), "local_models: {concurent_runs: 2}\n");
    const broken = await ask(station);
    expect(broken).toMatchObject({ exit_code: 0, stdout: "1\n" });
    expect(broken.stderr).toContain('Did you mean "concurrent_runs"?');
    const nowhere = await command(["slots", "allowed"], { cwd: station.home, env: station.env });
    expect(nowhere).toMatchObject({ exit_code: 0, stdout: "1\n" });
    expect(nowhere.stderr).toContain("no station");
  });

  it("says which runner and which model it cannot choose", async () => {
    const { station } = await measured();
    expect((await ask(station, "--runner", "nope")).stderr).toContain('there is no runner "nope"');
    expect((await ask(station, "--model", "nope")).stderr).toContain('it serves fake, not "nope"');
    expect(await ask(station, "--modle", "x")).toMatchObject({ exit_code: 2, stdout: "" });
  });
});
