import { expect, test, vi } from "vitest";
import { realKind, startRealServer } from "../../helpers/llama-server.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { packText } from "../steps/setting.ts";
import { IdleStation } from "./idle-setting.ts";
import { stationProcesses } from "./kills.ts";
import { TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

const REAL = onlyIf(realKind() === "llama-server");

test.each(REAL)(
  "what is asked for is measured in an idle hour, committed, and answered from",
  async () => {
    // No machine has so little memory: two slots break a bound when they are loaded, and it is one.
    const slots = "{max_slots: 2, bounds: {memory_ceiling: 0.00001}}";
    const station = await IdleStation.make({ slots });
    const { daemons } = station;
    const daemon = await daemons.daemon();
    station.putCorpus();
    await station.request();
    await station.waitFor("the evidence", () => station.evidence().length > 0);
    await station.waitFor("the request to be closed", () => station.requests().length === 0);
    await station.waitFor("the commit", () =>
      station.git("log", "--format=%s").includes("Slots on "),
    );
    const { stderr } = daemon.output();
    expect(stderr).toMatch(/measuring slots of tiny with llama begins: asked for by a person/);
    await station.waitFor("the daemon's word", () =>
      /slots of tiny: 1 at once is best/.test(daemon.output().stderr),
    );
    expect(await daemons.violations()).toEqual([]);
    // As the calibration starts its own: another way to compute would be another server.
    const args = ["-fa", "off"];
    const production = await startRealServer(tempDir(), { slots: 2, context_length: 512, args });
    try {
      station.writeMachine(production.url);
      const allowed = await daemons.night.run("slots", "allowed");
      expect(allowed).toMatchObject({ exit_code: 0, stdout: "1\n" });
      expect(allowed.stderr).toContain("1 measured less than an hour ago (evidence ");
      expect(station.requests()).toEqual([]);
    } finally {
      await production.stop();
    }
    expect((await daemons.status()).why_idle).toBe("idle, the queue is empty");
    await daemons.stop(daemon);
  },
);

test.each(REAL)(
  "a job that comes in mid-calibration runs at the next step, and the calibration goes on after it",
  async () => {
    const station = await IdleStation.make({ slots: "{max_slots: 2}" });
    const { daemons } = station;
    const daemon = await daemons.daemon();
    const said = (): string => daemon.output().stderr;
    const stepsDone = async (): Promise<number> => {
      const { idle_work } = await daemons.status();
      return idle_work?.kind === "calibrate" ? idle_work.steps_done : 0;
    };
    // Nothing was run here yet, so there is nothing to measure with.
    await station.request();
    await station.waitFor("why it waits", () => said().includes("no corpus to measure with"));
    const waiting = await daemons.night.run("status");
    expect(waiting.stdout).toMatch(
      /^nothing runs: idle, the queue is empty\nnot measuring slots of tiny: there is no corpus .*; tried again at /,
    );
    const slots = await daemons.night.run("slots", "status");
    expect(slots.stdout).toMatch(
      /tiny with llama since .*: asked for by a person\n {4}last tried .*: there is no corpus .*\n {4}there is no/,
    );

    daemons.night.write("pack.json", packText({ prompts: 70, max_tokens: 2 }));
    station.drop("first.json");
    await station.waitFor("its own corpus", () => said().includes("drew a corpus of"));
    await station.waitFor("some steps", async () => (await stepsDone()) >= 2);
    const measuring = await daemons.night.run("status");
    expect(measuring.stdout).toMatch(/^measuring slots of tiny: \d+ of about \d+ steps/);
    expect((await daemons.status()).why_idle).toBeNull();

    daemons.night.write("pack.json", packText({ prompts: 1, max_tokens: 2 }));
    station.drop("second.json");
    await daemons.waitPlaced("done", 2);
    expect(said()).toContain("slots of tiny: to give way after this step, a job is due");
    const [, steps] = /slots of tiny: gave way after (\d+) of about \d+ steps/.exec(said()) ?? [];
    await station.waitFor("the calibration to go on", () =>
      said().includes(`measuring slots of tiny with llama goes on after ${steps} steps`),
    );
    expect(station.evidence()).toEqual([]);
    await daemons.stop(daemon);
    expect((await daemon.finished).exit_code).toBe(0);
    expect(await daemons.violations()).toEqual([]);
    expect(stationProcesses(daemons.night.home)).toEqual([]);
  },
);
