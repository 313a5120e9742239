import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { deviceKey, verifyEvidence } from "../../../src/evidence/index.ts";
import { lockStatus } from "../../../src/station/index.ts";
import { judge } from "../../../src/verdict/index.ts";
import type { RunningCommand } from "../../helpers/command.ts";
import { realKind } from "../../helpers/llama-server.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { random, testSeed } from "../../helpers/seeded.ts";
import { waitFor } from "../../helpers/wait.ts";
import { IdleStation } from "./idle-setting.ts";
import { stationProcesses } from "./kills.ts";

/** On a busy machine everything takes long, and none of that is what these tests are about. */
const PATIENCE_MS = 240_000;

/** Kills the daemon of one station while it measures, again and again. */
class CalibrationKilling {
  readonly #station: IdleStation;
  readonly #next: () => number;
  #daemon: RunningCommand;
  /** How long a measurement takes where nobody is killed, from the request to its end. */
  #span_ms = 0;
  /** The part of it from its beginning on. */
  #measuring_ms = 0;
  /** What the daemon said last when it was killed. */
  readonly phases: Record<string, number> = {};
  measured = 0;
  went_on = 0;

  constructor(station: IdleStation, daemon: RunningCommand, seed: number) {
    this.#station = station;
    this.#daemon = daemon;
    this.#next = random(seed);
  }

  #said(): string {
    return this.#daemon.output().stderr;
  }

  /** The first one is measured in peace, and warms up caches. */
  async warmUp(): Promise<void> {
    const begun_ms = performance.now();
    await this.#station.request();
    await this.#patiently("a measurement to begin", () => this.#measures());
    const measures_ms = performance.now();
    await this.#patiently("a measurement", () => this.#station.requests().length === 0);
    this.#span_ms = performance.now() - begun_ms;
    this.#measuring_ms = performance.now() - measures_ms;
    this.measured += 1;
  }

  #measures(): boolean {
    return / begins| goes on after/.test(this.#said());
  }

  /** A moment at which to kill: three of four lie in the measurement, the others anywhere. */
  async #moment(): Promise<void> {
    if (this.#next() < 0.25) return delay(this.#span_ms * 0.9 * this.#next());
    await this.#patiently("a measurement to begin", () => this.#measures());
    return delay(this.#measuring_ms * 0.7 * this.#next());
  }

  async #patiently(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    await waitFor(what, look, PATIENCE_MS).catch((error: unknown) => {
      throw new Error(`${JSON.stringify(this.phases)}\n${this.#said().slice(-3000)}`, {
        cause: error,
      });
    });
  }

  /** Where it was, by the last thing that it said. */
  #phase(): string {
    const last = this.#said().trim().split("\n").at(-1) ?? "";
    if (/ begins/.test(last)) return "begun";
    if (/ goes on after/.test(last)) return "gone on";
    if (/at once is best/.test(last)) return "measured";
    return /runs as/.test(last) ? "starting" : "other";
  }

  /** Every piece of evidence is of a whole sweep and proves itself. */
  #checkEvidence(): void {
    const { state_dir } = this.#station.daemons;
    for (const name of this.#station.evidence()) {
      const text = readFileSync(join(state_dir, "evidence", name), "utf8");
      const { evidence, faults } = verifyEvidence(text, [deviceKey(state_dir)], judge);
      expect([faults, evidence?.sweep.complete]).toEqual([[], true]);
    }
  }

  async strike(): Promise<void> {
    const { daemons } = this.#station;
    if (this.#station.requests().length === 0) this.measured += 1;
    // As a person who does not want to wait for a pause to end.
    await this.#station.request();
    await this.#moment();
    const phase = this.#phase();
    this.phases[phase] = (this.phases[phase] ?? 0) + 1;
    if (/goes on after/.test(this.#said())) this.went_on += 1;
    this.#daemon.child.kill("SIGKILL");
    await this.#daemon.finished;
    // Half of the time the next daemon finds what the last one left.
    if (this.#next() < 0.5) await this.#allGone();
    this.#daemon = await daemons.daemon();
    this.#checkEvidence();
    expect(await daemons.violations()).toEqual([]);
  }

  /** No runner and no measurement is left, and nobody holds the lock. */
  async #allGone(): Promise<void> {
    const { night } = this.#station.daemons;
    await this.#patiently("its processes to end", () => stationProcesses(night.home).length === 0);
    expect((await lockStatus(night.env["TOUCHSTONED_LOCK"] ?? "")).held).toBe(false);
  }

  async finish(): Promise<void> {
    await this.#station.request();
    await this.#patiently("the last measurement", () => this.#station.requests().length === 0);
    this.measured += 1;
    await this.#station.daemons.stop(this.#daemon);
    await this.#allGone();
    this.#checkEvidence();
    expect(await this.#station.daemons.violations()).toEqual([]);
  }
}

/** Declares the test: so many kills of the daemon at random moments of a measurement. */
export function calibrationKills(kills: number, limit_ms: number): void {
  test.each(onlyIf(realKind() === "llama-server" && process.platform === "linux"))(
    `kill -9 of the daemon in mid-calibration, ${kills} moments`,
    { timeout: limit_ms },
    async () => {
      // Two slots break a bound when they are loaded: a measurement of some seconds with an end.
      const slots = "{max_slots: 2, bounds: {memory_ceiling: 0.00001}}";
      const station = await IdleStation.make({ slots });
      const daemon = await station.daemons.daemon();
      station.putCorpus();
      const killing = new CalibrationKilling(station, daemon, testSeed());
      await killing.warmUp();
      for (let n = 0; n < kills; n += 1) await killing.strike();
      await killing.finish();
      const { phases, measured, went_on } = killing;
      console.error(`[tests] ${JSON.stringify({ phases, measured, went_on })}`);
      // Most of them fall into the middle of a measurement.
      expect((phases["begun"] ?? 0) + (phases["gone on"] ?? 0)).toBeGreaterThan(kills / 3);
      expect(measured).toBeGreaterThanOrEqual(2);
    },
  );
}
