import { gainWords, rangeWords } from "../core/gain-words.ts";
import type { Breach, LevelJudgement, Verdict } from "./judgement.ts";
import type { Method, Sweep } from "./records.ts";

/** In documents without `method.intervals`. */
const signed = (ratio: number): string => {
  const share = Math.round((ratio - 1) * 100);
  return share >= 0 ? `+${share} %` : `${share} %`;
};

const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
const slotsOf = (slots: number): string => (slots === 1 ? "1 slot" : `${slots} slots`);

/** "4 slots: +3 % over 2 slots (-2.1 % to +8.0 %)". */
function gainText(level: LevelJudgement, method: Method): string {
  const { ratio, ratio_low: low, ratio_high: high } = level;
  const slots = slotsOf(level.slots);
  if (ratio === null) return `${slots}: not measured`;
  const known = low !== null && high !== null;
  if (method.intervals !== "decision") {
    const range = known ? ` (${signed(low)} to ${signed(high)})` : "";
    return `${slots}: ${signed(ratio)} over ${slotsOf(level.against)}${range}`;
  }
  const range = known ? ` (${rangeWords(low, high)})` : "";
  // A gain that is shown and does not count needs a word why.
  const [why] = level.warnings;
  const but = known && low > 1 + method.gain_gate && level.gain !== "accepted" && why !== undefined;
  const text = `${slots}: ${gainWords(ratio)} over ${slotsOf(level.against)}${range}`;
  return but ? `${text}, but ${why}` : text;
}

function whyNotMore(
  recommended: number,
  first: Verdict["first_breach"],
  levels: readonly LevelJudgement[],
  method: Method,
): string {
  const above = levels.filter((level) => level.slots > recommended);
  const parts: string[] = [];
  const flat = above.filter((level) => level.breaches.length === 0);
  const unproven = flat.filter((level) => level.gain === "accepted");
  const noGain = flat.filter((level) => level.gain !== "accepted");
  if (noGain.length > 0)
    parts.push(`no proven gain from ${noGain.map((level) => gainText(level, method)).join("; ")}`);
  for (const level of unproven) {
    const why =
      level.fidelity === "proven"
        ? "it builds on a number that is not proven"
        : "the answers are not proven";
    parts.push(`${slotsOf(level.slots)} gave more output, but ${why}`);
  }
  if (first !== null) parts.push(`${slotsOf(first.slots)} broke a bound: ${first.reason}`);
  return parts.join("; ");
}

export function measuredReason(
  recommended: number,
  first: Verdict["first_breach"],
  levels: readonly LevelJudgement[],
  method: Method,
): string {
  const why = whyNotMore(recommended, first, levels, method);
  if (recommended === 1) {
    return `1: ${why === "" ? `nothing above one slot was tried (at most ${slotsOf(method.max_slots)})` : why}.`;
  }
  const own = levels.find((level) => level.slots === recommended);
  const gain = own === undefined ? "" : gainText(own, method);
  return `${recommended}: ${gain}, inside every bound, answers proven${why === "" ? "" : `; above it, ${why}`}.`;
}

export function noisyReason(sigma: number, smallest: number, method: Method): string {
  return `too noisy: equal runs at one slot differ by ${percent(sigma)} (standard deviation), so that only differences above ${percent(smallest)} can be seen; ${percent(method.gain_gate)} must be. This is no evidence.`;
}

/** One slot itself cannot serve what was to be measured. */
export function refusedReason({ reason }: Breach): string {
  return `it cannot be measured: ${reason}. This is no evidence.`;
}

export function incompleteReason(sweep: Sweep): string {
  return `not finished: ${sweep.stop}. This is no evidence.`;
}
