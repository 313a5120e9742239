import { armRates, soundBlocks } from "./blocks.ts";
import { gainOf } from "./gain.ts";
import type { Gain } from "./gain.ts";
import { clientBreaches, contextBreaches, readingBreaches, startBreaches } from "./bounds.ts";
import { judgeFidelity } from "./fidelity.ts";
import type { Bounds, Breach, LevelJudgement } from "./judgement.ts";
import type { Level, Method, StartRecord, Sweep } from "./records.ts";

/** Bounds that starts of the runner with this many slots break, over the whole ladder. */
export function ladderBreaches(sweep: Sweep, slots: number, bounds: Bounds): Breach[] {
  const asked = {
    slots,
    context_per_slot: sweep.method.context_per_slot,
    host_total_mb: sweep.baseline.readings?.host_total_mb ?? null,
  };
  return sweep.ladder
    .filter((start) => start.slots_asked === slots)
    .flatMap((start) => startBreaches(start, asked, bounds));
}

/** What was compared. Earlier documents do not tell. */
function compared({ text_answers }: Method): string {
  if (text_answers === undefined) return "answers";
  return text_answers === "same" ? "answers (words, tool calls)" : "answers (kind, tool calls)";
}

function fidelityOf(
  level: Level,
  sweep: Sweep,
): { state: LevelJudgement["fidelity"]; breach: Breach[]; warnings: string[] } {
  const { segments, structural_flips: flips } = level.fidelity;
  if (segments === 0) return { state: "not_measured", breach: [], warnings: [] };
  const self = sweep.baseline.self_agreement;
  const judged = judgeFidelity(level.fidelity, self, sweep.method, sweep.corpus.segments);
  const seen = `${compared(sweep.method)} differ in ${flips} of ${segments} segments from those at one slot`;
  if (judged.state === "proven") return { state: "proven", breach: [], warnings: [] };
  if (judged.state === "broken") {
    const limit = Number((judged.limit * 100).toFixed(1));
    const reason = `${seen}; that they differ in less than ${limit} % cannot be shown any more`;
    return {
      state: "broken",
      breach: [{ slots: level.slots, bound: "fidelity", reason }],
      warnings: [],
    };
  }
  const needed =
    judged.needed === null ? "more than any corpus has" : `${judged.needed} segments are needed`;
  return { state: "not_proven", breach: [], warnings: [`${seen}: not proven yet, ${needed}`] };
}

/** What a level's own starts and readings break. Fidelity is apart: it needs numbers, not one look. */
export function hardBreaches(level: Level, sweep: Sweep, bounds: Bounds): Breach[] {
  const { slots } = level;
  const one = sweep.baseline.readings;
  const asked = {
    slots,
    context_per_slot: sweep.method.context_per_slot,
    host_total_mb: one?.host_total_mb ?? null,
  };
  const breaches = [
    ...startBreaches(level.start, asked, bounds),
    ...contextBreaches(slots, level.too_long_turns, level.start.context_read),
  ];
  if (level.lost !== null) {
    breaches.push({ slots, bound: "server", reason: `the server was lost: ${level.lost}` });
  }
  if (level.readings !== null) {
    breaches.push(...readingBreaches(slots, level.readings, one, bounds));
    breaches.push(...clientBreaches(slots, level.client));
  }
  return breaches;
}

function shareOfIdeal(ratio: number, level: Level): number {
  return (ratio - 1) / (level.slots / level.against - 1);
}

/** Rounded, so that the verdict is the same to the digit wherever it is worked out again. */
const rounded = (value: number): number => Number(value.toPrecision(6));

function ratios(
  gain: Gain,
  level: Level,
): Pick<LevelJudgement, "ratio" | "ratio_low" | "ratio_high" | "share_of_ideal"> {
  if (gain.interval === null) {
    return { ratio: null, ratio_low: null, ratio_high: null, share_of_ideal: null };
  }
  const { mean, low, high } = gain.interval;
  const ratio = Math.exp(mean);
  return {
    ratio: rounded(ratio),
    ratio_low: Number.isFinite(low) ? rounded(Math.exp(low)) : null,
    ratio_high: Number.isFinite(high) ? rounded(Math.exp(high)) : null,
    share_of_ideal: rounded(shareOfIdeal(ratio, level)),
  };
}

/** Why a gain that the blocks show does not count. */
function gainWarnings({ note, state, interval }: Gain, level: Level, method: Method): string[] {
  if (note !== null) return [note];
  const shown =
    method.intervals === "decision" &&
    state === "not_proven" &&
    level.blocks.length >= method.blocks_min &&
    (interval?.low ?? -Infinity) > Math.log1p(method.gain_gate);
  return shown ? ["what its slots themselves cost was not measured"] : [];
}

const orNull = (value: number | undefined): number | null =>
  value === undefined ? null : rounded(value);

/** One level from its records alone. */
export function judgeLevel(level: Level, sweep: Sweep, bounds: Bounds): LevelJudgement {
  const gain = gainOf(level, sweep);
  const rates = armRates(soundBlocks(level.blocks), "B");
  const fidelity = fidelityOf(level, sweep);
  const hard = hardBreaches(level, sweep, bounds);
  const ladder = ladderBreaches(sweep, level.slots, bounds).filter(
    (breach) => !hard.some((other) => other.bound === breach.bound),
  );
  const discards = level.discards.map(
    ({ reason, blocks }) =>
      `${blocks} block${blocks === 1 ? " was" : "s were"} thrown away: ${reason}`,
  );
  return {
    slots: level.slots,
    against: level.against,
    ...ratios(gain, level),
    tokens_per_s: orNull(rates?.tokens_per_s),
    turns_per_hour: orNull(rates?.turns_per_hour),
    gain: gain.state,
    fidelity: fidelity.state,
    breaches: [...ladder, ...hard, ...fidelity.breach],
    warnings: [
      ...gainWarnings(gain, level, sweep.method),
      ...fidelity.warnings,
      ...discards,
      ...(level.ended === "" ? [] : [level.ended]),
    ],
  };
}

/** One slot: whatever is broken there warns, since nothing smaller can be served. */
export function judgeBaseline(sweep: Sweep, bounds: Bounds): LevelJudgement {
  const { baseline } = sweep;
  const sound = soundBlocks(baseline.blocks);
  const rates = [armRates(sound, "A"), armRates(sound, "B")].filter((rate) => rate !== null);
  const middle = (pick: (rate: NonNullable<(typeof rates)[number]>) => number): number | null =>
    rates.length === 0
      ? null
      : rounded(rates.reduce((sum, rate) => sum + pick(rate), 0) / rates.length);
  const broken = [
    ...startBreaches(
      baseline.start,
      { slots: 1, context_per_slot: sweep.method.context_per_slot, host_total_mb: null },
      bounds,
    ),
    ...(baseline.readings === null
      ? []
      : [
          ...readingBreaches(1, baseline.readings, baseline.readings, bounds),
          ...clientBreaches(1, baseline.client),
        ]),
  ];
  return {
    slots: 1,
    against: 1,
    ratio: null,
    ratio_low: null,
    ratio_high: null,
    share_of_ideal: null,
    tokens_per_s: middle((rate) => rate.tokens_per_s),
    turns_per_hour: middle((rate) => rate.turns_per_hour),
    gain: "baseline",
    fidelity: "proven",
    // The one thing that one slot is refused for: what was measured would be another, shorter corpus.
    breaches: contextBreaches(1, baseline.too_long_turns, baseline.start.context_read),
    warnings: broken.map((breach) => breach.reason),
  };
}

/** A step of the ladder that was never a level, because its start alone broke a bound. */
export function judgeUnloaded(start: StartRecord, breaches: Breach[]): LevelJudgement {
  return {
    slots: start.slots_asked,
    against: 1,
    ratio: null,
    ratio_low: null,
    ratio_high: null,
    share_of_ideal: null,
    tokens_per_s: null,
    turns_per_hour: null,
    gain: "not_measured",
    fidelity: "not_measured",
    breaches,
    warnings: [],
  };
}
