import type { Segment } from "../../src/calibrate/device.ts";
import { DEFAULT_BOUNDS } from "../../src/verdict/index.ts";
import type { SimulatedDevice } from "./device.ts";
import { MAX_SLOTS } from "./truth.ts";

const TURNS = 60;
const GAIN = 1.1;
const AGREEMENT = 0.95;

interface FixedStep {
  slots: number;
  turns_per_s: number;
  inside: boolean;
}

/**
 * The rule that this project's method is held against: 60 turns at one slot, twice, then at 2, 3, ...
 * slots, each once on a server of its own; stop at a broken bound or after two steps that bring less
 * than 10 %; the answer is the smallest number within 10 % of the best.
 */
export async function fixedRule(
  device: SimulatedDevice,
  segments: readonly Segment[],
): Promise<number> {
  const used = segments.slice(0, TURNS / 3);
  const before = new Map<string, string | null>();
  const measure = async (slots: number): Promise<FixedStep> => {
    const start = await device.start({ slots, context_per_slot: 8192 });
    if (!start.record.loaded) return { slots, turns_per_s: 0, inside: false };
    await start.warmUp(slots);
    const result = await start.measure({ workers: slots, segments: used, fillers: [], nonce: "" });
    await start.stop();
    const { host_used_peak_mb: peak, host_total_mb: whole } = result.readings;
    const memory = (peak ?? 0) <= DEFAULT_BOUNDS.memory_ceiling * (whole ?? 0);
    const same = result.turns.filter((turn) => before.get(turn.turn_id) === turn.structural).length;
    if (slots === 1 && before.size === 0) {
      for (const turn of result.turns) before.set(turn.turn_id, turn.structural);
    }
    const faithful = slots === 1 || same >= AGREEMENT * result.turns.length;
    const inside = slots === 1 || (memory && faithful && result.lost === null);
    return { slots, turns_per_s: result.turns.length / Math.max(1, result.window_s), inside };
  };
  const steps = [await measure(1)];
  await measure(1);
  let best = steps[0]?.turns_per_s ?? 0;
  let flat = 0;
  for (let slots = 2; slots <= MAX_SLOTS && flat < 2; slots++) {
    const step = await measure(slots);
    if (!step.inside) break;
    flat = step.turns_per_s < best * GAIN ? flat + 1 : 0;
    best = Math.max(best, step.turns_per_s);
    steps.push(step);
  }
  return steps.find((step) => step.turns_per_s * GAIN >= best)?.slots ?? 1;
}
