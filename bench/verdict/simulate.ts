import { runSweep } from "../../src/calibrate/sweep.ts";
import { DEFAULT_BOUNDS, DEFAULT_METHOD } from "../../src/verdict/index.ts";
import type { Method, Verdict } from "../../src/verdict/index.ts";
import { madeCorpus } from "./corpus.ts";
import { SimulatedDevice } from "./device.ts";
import { fixedRule } from "./fixed-rule.ts";
import { Draw } from "./random.ts";
import { MAX_SLOTS, drawTruth, trueNumber, trueRate } from "./truth.ts";
import type { Truth } from "./truth.ts";

export const SIMULATED_METHOD: Method = {
  ...DEFAULT_METHOD,
  max_slots: MAX_SLOTS,
  context_per_slot: 65_536,
  temperature: 0,
  seed: 42,
  max_tokens: 512,
  cold: "cache_off",
  residency: "own_start",
};

export interface Answer {
  number: number;
  result: Verdict["result"];
  /** Requests over those of the fixed rule for the same answer: 60 (number + 3). */
  price: number;
  /** The number is higher than the truth allows. */
  wrong_high: boolean;
  /** The truth gives at least 20 % more than this number. */
  missed: boolean;
}

export interface Trial {
  seed: number;
  truth: Truth;
  truly: number;
  /** The truth gives at least 20 % more than one slot. */
  gains: boolean;
  method: Answer;
  fixed: Answer;
  reason: string;
}

const corpus = madeCorpus();

function answer(truth: Truth, number: number, result: Verdict["result"], turns: number): Answer {
  const truly = trueNumber(truth);
  return {
    number,
    result,
    price: turns / (60 * (number + 3)),
    wrong_high: number > truly,
    missed: number < truly && trueRate(truth, truly) >= 1.2 * trueRate(truth, number),
  };
}

/** One device, measured by the method and by the fixed rule. */
export async function trial(seed: number, truth = drawTruth(seed)): Promise<Trial> {
  const device = new SimulatedDevice(truth, seed, corpus.work);
  const { verdict } = await runSweep({
    device,
    segments: corpus.segments,
    corpus: corpus.summary,
    method: SIMULATED_METHOD,
    bounds: DEFAULT_BOUNDS,
    clock: device.clock,
    random: new Draw(seed + 1_000_003).unit,
    checkpoint: { load: () => undefined, save: () => undefined },
  });
  const other = new SimulatedDevice(truth, seed, corpus.work);
  const fixed = await fixedRule(other, corpus.segments);
  const truly = trueNumber(truth);
  return {
    seed,
    truth,
    truly,
    gains: trueRate(truth, truly) >= 1.2 * trueRate(truth, 1),
    method: answer(truth, verdict.recommended, verdict.result, device.turns),
    fixed: answer(truth, fixed, "measured", other.turns),
    reason: verdict.reason,
  };
}
