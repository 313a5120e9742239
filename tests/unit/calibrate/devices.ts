import { madeCorpus } from "../../../bench/verdict/corpus.ts";
import { SimulatedDevice } from "../../../bench/verdict/device.ts";
import { Draw } from "../../../bench/verdict/random.ts";
import { SIMULATED_METHOD } from "../../../bench/verdict/simulate.ts";
import type { Truth } from "../../../bench/verdict/truth.ts";
import type {
  CalibrationDevice,
  PeriodRequest,
  PeriodResult,
} from "../../../src/calibrate/device.ts";
import { runSweep } from "../../../src/calibrate/sweep.ts";
import type { SweepOptions } from "../../../src/calibrate/sweep.ts";
import { DEFAULT_BOUNDS } from "../../../src/verdict/index.ts";
import type { StartRecord } from "../../../src/verdict/index.ts";

export const CORPUS = madeCorpus();
export const METHOD = SIMULATED_METHOD;

/** Output of 1 to 8 busy slots over that of one. */
export const RISING = [1, 1.8, 2.4, 2.9, 3.0, 3.05, 3.05, 3.05];
export const FLAT = [1, 1, 1, 1, 1, 1, 1, 1];

export function truth(over: Partial<Truth> = {}): Truth {
  return {
    curve: "saturating",
    fault: "none",
    fault_at: Infinity,
    noise: 0.02,
    thermal: 0,
    rate: RISING,
    slot_cost: 0,
    flips: 0,
    start_noise: 0,
    disturbed: 0,
    ...over,
  };
}

export interface Twist {
  /** Changes what a start says, or what a period gave. */
  record?: (record: StartRecord) => StartRecord;
  period?: (result: PeriodResult, request: PeriodRequest, slots: number) => PeriodResult;
}

/** A simulated device with one thing changed, and a list of what it was asked to do. */
export class TwistedDevice implements CalibrationDevice {
  readonly inner: SimulatedDevice;
  readonly starts: number[] = [];
  readonly periods: { slots: number; request: PeriodRequest }[] = [];
  running = 0;
  readonly #twist: Twist;

  constructor(over: Partial<Truth> = {}, twist: Twist = {}, seed = 1) {
    this.inner = new SimulatedDevice(truth(over), seed, CORPUS.work);
    this.#twist = twist;
  }

  start: CalibrationDevice["start"] = async (options) => {
    const { slots } = options;
    const inner = await this.inner.start(options);
    const record = this.#twist.record?.(inner.record) ?? inner.record;
    this.starts.push(slots);
    this.running += record.loaded ? 1 : 0;
    return {
      record,
      warmUp: inner.warmUp,
      measure: async (request) => {
        this.periods.push({ slots, request });
        const result = await inner.measure(request);
        return this.#twist.period?.(result, request, slots) ?? result;
      },
      stop: async () => {
        this.running -= 1;
        await inner.stop();
      },
    };
  };
}

export async function sweepOn(
  device: TwistedDevice,
  over: Partial<SweepOptions> = {},
): ReturnType<typeof runSweep> {
  return runSweep({
    device,
    segments: CORPUS.segments,
    corpus: CORPUS.summary,
    method: METHOD,
    bounds: DEFAULT_BOUNDS,
    clock: device.inner.clock,
    random: new Draw(11).unit,
    checkpoint: { load: () => undefined, save: () => undefined },
    ...over,
  });
}

export const readingsOf = (
  result: PeriodResult,
  over: Partial<PeriodResult["readings"]>,
): PeriodResult => ({
  ...result,
  readings: { ...result.readings, ...over },
});
