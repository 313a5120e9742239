import { isoTime } from "../core/clock.ts";
import { blockFault } from "../verdict/index.ts";
import type { Block, Period, Sampled } from "../verdict/index.ts";
import type { DeviceStart, Sampling, Segment } from "./device.ts";
import { cardsFrom, shuffled, sliceOf } from "./sweep-deck.ts";
import { noteTooLong } from "./sweep-fit.ts";
import { addReadings, addReferences, compareAnswers, periodOf, stamp } from "./sweep-period.ts";
import type { Served } from "./sweep-period.ts";
import type { Session } from "./sweep-session.ts";
import { emptyLevel } from "./sweep-state.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";

/** Segments of a block of a level that is still undecided, over those of its first blocks. */
const CLOSE_FACTOR = 2;

/** Cards that may be used: without segments that fail at one slot already. */
export function usable(state: SweepState, deck: readonly Segment[]): Segment[] {
  const out = new Set(state.excluded);
  return deck.filter((segment) => !out.has(segment.id));
}

export function discard(level: LevelState, reason: string, disturbed: boolean): void {
  const before = level.discards.find((one) => one.reason === reason);
  if (before === undefined) level.discards.push({ reason, blocks: 1 });
  else before.blocks += 1;
  // The reason that counts for what happens next is the last one.
  level.discards.sort((a, b) => Number(a.reason === reason) - Number(b.reason === reason));
  level.in_row += 1;
  level.disturbed = disturbed;
}

export interface BlockTools {
  session: Session;
  start: DeviceStart;
  deck: readonly Segment[];
  random: () => number;
  /** Throws where the sweep was interrupted: what a period says then means nothing. */
  stopIfAsked: () => void;
  /** As production samples; left out = as the method says. */
  sampling?: Sampling;
}

interface FourServed {
  order: Block["order"];
  served: [Served, Served, Served, Served];
}

const sets = (state: SweepState, level: LevelState, deck: readonly Segment[]): Segment[][] => {
  const { turns } = state.pace;
  // What is still undecided after the fewest blocks is close: from there on each block holds more.
  const close = level.slots > 1 && level.blocks.length >= state.method.blocks_min;
  const segments = state.pace.segments * (close ? CLOSE_FACTOR : 1);
  const sent = level.blocks.reduce((sum, block) => sum + block.turns[0] + block.turns[2], 0);
  const from = Math.floor(sent / turns);
  const cards = cardsFrom(usable(state, deck), from, 2 * segments);
  const sliced = cards.map((card) => sliceOf(card, turns, state.method.seed));
  const half = Math.ceil(sliced.length / 2);
  return [sliced.slice(0, half), sliced.length > 1 ? sliced.slice(half) : sliced];
};

/** The four periods of a block; a text where they came to nothing. */
async function serveFour(
  state: SweepState,
  level: LevelState,
  tools: BlockTools,
): Promise<FourServed | null> {
  const order = tools.random() < 0.5 ? "ABBA" : "BAAB";
  const [first = [], second = []] = sets(state, level, tools.deck).map((set) =>
    shuffled(set, tools.random),
  );
  const served: Served[] = [];
  for (const [index, arm] of Array.from(order).entries()) {
    const set = index < 2 ? first : second;
    const noise = level.slots === 1 && arm === "B";
    const one = await tools.session.serve(state, tools.start, {
      workers: arm === "A" ? level.against : level.slots,
      // Noise at one slot also shows what another order of the same prompts does to answers.
      counted: noise ? set.toReversed() : set,
      lead_in: true,
      sampling: tools.sampling,
    });
    tools.stopIfAsked();
    const { lost, disturbed } = one.result;
    if (lost !== null) {
      level.lost = lost;
      return null;
    }
    if (disturbed !== null) {
      discard(level, disturbed, true);
      return null;
    }
    served.push(one);
  }
  const [a, b, c, d] = served;
  if (a === undefined || b === undefined || c === undefined || d === undefined) return null;
  return { order, served: [a, b, c, d] };
}

function blockOf({ order, served }: FourServed): Block {
  const [a, b, c, d] = served.map((one) => periodOf(one)) as [Period, Period, Period, Period];
  const column = <T>(pick: (period: Period) => T): [T, T, T, T] => [
    pick(a),
    pick(b),
    pick(c),
    pick(d),
  ];
  const cached = [a, b, c, d].map((period) => period.cached_tokens);
  const [ca, cb, cc, cd] = cached;
  return {
    order,
    turns: column((period) => period.turns),
    busy_s: column((period) => period.busy_s),
    prompt_tokens: column((period) => period.prompt_tokens),
    output_tokens: column((period) => period.output_tokens),
    cached_tokens: ca == null || cb == null || cc == null || cd == null ? null : [ca, cb, cc, cd],
    requests: served.reduce((sum, one) => sum + one.result.requests, 0),
    ended_at: isoTime(served[3].result.ended_at_ms),
  };
}

/** Answers of a block: those at one slot are remembered, those under load held against them. */
function noteAnswers(state: SweepState, level: LevelState, four: FourServed): void {
  // A nonce changes the prompt, and with it the answer: only exact prompts are compared (see certify).
  if (state.method.cold === "nonce") return;
  if (level.slots === 1) {
    for (const { counted } of four.served) {
      compareAnswers(level, counted, state);
      addReferences(state, counted);
    }
    return;
  }
  for (const { workers, counted } of four.served) {
    if (workers === 1) addReferences(state, counted);
  }
  for (const { workers, counted } of four.served) {
    if (workers === level.slots) compareAnswers(level, counted, state);
  }
}

/** Segments with a turn that failed at one slot, in this block. They prove nothing about more slots. */
function failedAtOne(four: FourServed): Set<string> {
  const failed = four.served
    .filter((one) => one.workers === 1)
    .flatMap((one) => one.counted.filter((turn) => !turn.ok));
  return new Set(failed.map((turn) => turn.segment_id));
}

/**
 * One block with answers drawn as in production: into the report, and nowhere else. Random answers have
 * random lengths, so its arms need not have done the same work.
 */
export async function sampledBlock(
  state: SweepState,
  sampled: Sampled,
  tools: BlockTools,
): Promise<boolean> {
  const level = { ...emptyLevel(sampled.slots, 1), blocks: [...sampled.blocks] };
  const four = await serveFour(state, level, tools);
  if (four === null) {
    sampled.note = level.lost ?? level.discards.at(-1)?.reason ?? "";
    return false;
  }
  const block = blockOf(four);
  sampled.failed_turns += four.served.flatMap((one) => one.counted.filter(({ ok }) => !ok)).length;
  if (block.turns.includes(0)) {
    sampled.note = "a period of it answered nothing";
    return false;
  }
  sampled.blocks.push(block);
  return true;
}

/** One block on a start that is warm. Whatever comes of it is written into the level. */
export async function measureBlock(
  state: SweepState,
  level: LevelState,
  tools: BlockTools,
): Promise<void> {
  const four = await serveFour(state, level, tools);
  if (four === null) return;
  const block = blockOf(four);
  const ended_at_ms = four.served[3].result.ended_at_ms;
  stamp(level, ended_at_ms, tools.start.record.started_at);
  // What comes of it must be known first: see fitStep.
  if (noteTooLong(state, level.slots, four.served)) return;
  const failed = failedAtOne(four);
  for (const one of four.served) {
    const lost = one.counted.filter((turn) => !turn.ok);
    const forgiven = lost.filter((turn) => failed.has(turn.segment_id)).length;
    if (one.workers === level.slots) addReadings(state, level, one, forgiven);
    // Fewer workers than this level's, on its start: what was answered before and is not any more.
    else if (level.readings !== null) level.readings.failed_turns += lost.length - forgiven;
  }
  noteAnswers(state, level, four);
  if (failed.size > 0) {
    state.excluded.push(...failed);
    const row = level.in_row;
    discard(level, "a turn of it fails at one slot already", false);
    level.in_row = row;
    return;
  }
  const fault = blockFault(block);
  if (fault === null) {
    level.blocks.push(block);
    level.in_row = 0;
  } else {
    discard(level, fault, false);
  }
}
