import type { LevelJudgement, Verdict } from "./judgement.ts";
import type { Method, Sweep } from "./records.ts";

const signed = (ratio: number): string => {
  const share = Math.round((ratio - 1) * 100);
  return share >= 0 ? `+${share} %` : `${share} %`;
};

const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
const slotsOf = (slots: number): string => (slots === 1 ? "1 slot" : `${slots} slots`);

/** "4 slots: +3 % over 2 slots (-2 % to +8 %)". */
function gainWords(level: LevelJudgement): string {
  const { ratio, ratio_low: low, ratio_high: high } = level;
  if (ratio === null) return `${slotsOf(level.slots)}: not measured`;
  const range = low === null || high === null ? "" : ` (${signed(low)} to ${signed(high)})`;
  return `${slotsOf(level.slots)}: ${signed(ratio)} over ${slotsOf(level.against)}${range}`;
}

function whyNotMore(
  recommended: number,
  first: Verdict["first_breach"],
  levels: readonly LevelJudgement[],
): string {
  const above = levels.filter((level) => level.slots > recommended);
  const parts: string[] = [];
  const flat = above.filter((level) => level.breaches.length === 0);
  const unproven = flat.filter((level) => level.gain === "accepted");
  const noGain = flat.filter((level) => level.gain !== "accepted");
  if (noGain.length > 0) parts.push(`no proven gain from ${noGain.map(gainWords).join("; ")}`);
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
  const why = whyNotMore(recommended, first, levels);
  if (recommended === 1) {
    return `1: ${why === "" ? `nothing above one slot was tried (at most ${slotsOf(method.max_slots)})` : why}.`;
  }
  const own = levels.find((level) => level.slots === recommended);
  const gain = own === undefined ? "" : gainWords(own);
  return `${recommended}: ${gain}, inside every bound, answers proven${why === "" ? "" : `; above it, ${why}`}.`;
}

export function noisyReason(sigma: number, smallest: number, method: Method): string {
  return `too noisy: equal runs at one slot differ by ${percent(sigma)} (standard deviation), so that only differences above ${percent(smallest)} can be seen; ${percent(method.gain_gate)} must be. This is no evidence.`;
}

export function incompleteReason(sweep: Sweep): string {
  return `not finished: ${sweep.stop}. This is no evidence.`;
}
