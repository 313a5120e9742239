import { isoTime } from "../core/clock.ts";
import { sha256Hex } from "../core/json.ts";
import type { Period, StartRecord } from "../verdict/index.ts";
import type { DeviceStart, Segment } from "./device.ts";
import { discard, measureBlock, sampledBlock, usable } from "./sweep-block.ts";
import { cardsFrom, sliceOf } from "./sweep-deck.ts";
import { blameLevels, noteTooLong } from "./sweep-fit.ts";
import { addReadings, addReferences, compareAnswers, periodOf, stamp } from "./sweep-period.ts";
import type { Served } from "./sweep-period.ts";
import type { ExtraWish, Step } from "./sweep-plan.ts";
import type { Session, SweepTools } from "./sweep-session.ts";
import type { LevelState, SweepState } from "./sweep-state.ts";

/** Thrown where the signal ended a step: what it had measured is dropped, the state is as before it. */
export class Interrupted extends Error {}

export interface Doing {
  state: SweepState;
  session: Session;
  tools: SweepTools;
}

function stopIfAsked({ tools }: Doing): void {
  if (tools.signal?.aborted === true) throw new Interrupted("the sweep was interrupted");
}

const less = (a: number | null, b: number | null): boolean =>
  a === null ? b !== null : b !== null && a < b;

/** A start that gives less than an earlier one of the same level is the one that counts. */
function worseStart(before: StartRecord | null, now: StartRecord): StartRecord {
  if (before === null || !now.loaded) return now;
  const worse =
    less(now.slots_read, before.slots_read) || less(now.context_read, before.context_read);
  return worse ? now : before;
}

/** The level's own server; null where the start says enough and nothing should be measured on it. */
async function levelStart(doing: Doing, level: LevelState): Promise<DeviceStart | null> {
  const start = await doing.session.ensure(doing.state, level.slots);
  stopIfAsked(doing);
  const first = level.start === null;
  const kept = worseStart(level.start, start.record);
  const changed = kept !== level.start;
  level.start = kept;
  if (first) stamp(level, doing.tools.clock.now_ms(), start.record.started_at);
  return changed || !start.record.loaded ? null : start;
}

async function block(doing: Doing, level: LevelState): Promise<void> {
  const start = await levelStart(doing, level);
  if (start === null) return;
  const { session, tools, state } = doing;
  const { deck, random } = tools;
  const stop = (): void => stopIfAsked(doing);
  await measureBlock(state, level, { session, start, deck, random, stopIfAsked: stop });
  // Only at work a server shows that it has fewer slots than it says.
  level.start = worseStart(level.start, start.record);
}

/** Whether a period may be used; where not, the level says why. */
function undisturbed(level: LevelState, { result, counted }: Served): boolean {
  if (result.lost !== null) {
    level.lost = result.lost;
    return false;
  }
  if (result.disturbed !== null) {
    discard(level, result.disturbed, true);
    return false;
  }
  return counted.length > 0;
}

/** The best number of workers on a start of its own, or on one with the candidate's slots. */
async function arm(doing: Doing, step: Extract<Step, { kind: "arm" }>): Promise<void> {
  const { state, session, tools } = doing;
  const { level, slots, segments } = step;
  const place = level.arms.length % 4;
  const another = place === 2 || (place === 0 && level.arms.length > 0);
  const start = await session.ensure(state, slots, { another });
  stopIfAsked(doing);
  if (!start.record.loaded) {
    level.lost = `another start with ${slots} slots failed: ${start.record.failure ?? "no reason is known"}`;
    return;
  }
  const cards = cardsFrom(usable(state, tools.deck), 0, segments);
  const counted = cards.map((card) => sliceOf(card, state.pace.turns, state.method.seed));
  const served = await session.serve(state, start, {
    workers: level.against,
    counted,
    lead_in: true,
  });
  stopIfAsked(doing);
  if (!undisturbed(level, served)) return;
  stamp(level, served.result.ended_at_ms);
  if (noteTooLong(state, slots, [served])) return;
  if (served.counted.some((turn) => !turn.ok)) {
    discard(level, "a turn failed in a start arm", false);
    return;
  }
  if (level.against === 1 && state.method.cold !== "nonce") addReferences(state, served.counted);
  const { turns, busy_s, output_tokens } = periodOf(served);
  level.arms.push({ slots, workers: level.against, turns, busy_s, output_tokens });
  level.arm_segments = segments;
  level.in_row = 0;
}

/** The same nonce in every comparison of answers: here prompts must be equal, and nothing is timed. */
const exactNonce = (state: SweepState): string =>
  sha256Hex(`answers ${state.method.seed}`).slice(0, 16);

async function serveExact(
  doing: Doing,
  start: DeviceStart,
  workers: number,
  counted: readonly Segment[],
): Promise<Served> {
  const { state, session } = doing;
  const nonce = exactNonce(state);
  const served = await session.serve(state, start, { workers, counted, lead_in: false, nonce });
  stopIfAsked(doing);
  return served;
}

/** Segments that the blocks did not compare: one turn of each, alone and with all slots busy. */
async function certify(doing: Doing, level: LevelState, segments: number): Promise<void> {
  const { state, tools } = doing;
  const start = await levelStart(doing, level);
  if (start === null) return;
  const fresh = usable(state, tools.deck).filter((card) => level.compared[card.id] === undefined);
  const cards = cardsFrom(fresh, 0, segments).map((card) => sliceOf(card, 1, state.method.seed));
  const missing = cards.filter((card) =>
    card.turns.some((turn) => state.references[turn.id] === undefined),
  );
  if (missing.length > 0) {
    const alone = await serveExact(doing, start, 1, missing);
    if (!undisturbed(level, alone) || noteTooLong(state, level.slots, [alone])) return;
    addReferences(state, alone.counted);
    const failed = alone.counted.filter((turn) => !turn.ok).map((turn) => turn.segment_id);
    state.excluded.push(...failed);
  }
  const counted = cards.filter((card) => !state.excluded.includes(card.id));
  if (counted.length === 0) return;
  const busy = await serveExact(doing, start, level.slots, counted);
  if (!undisturbed(level, busy)) return;
  stamp(level, busy.result.ended_at_ms);
  if (noteTooLong(state, level.slots, [busy])) return;
  addReadings(state, level, busy, 0);
  level.start = worseStart(level.start, start.record);
  const before = Object.keys(level.compared).length;
  compareAnswers(level, busy.counted, state);
  if (Object.keys(level.compared).length > before) level.in_row = 0;
  else discard(level, "answers could not be compared", false);
}

/** What was too long on more slots, on one: is it the corpus, or that number of slots? */
async function fit(doing: Doing, segments: readonly string[]): Promise<void> {
  const { state, session, tools } = doing;
  const start = await session.ensure(state, 1);
  stopIfAsked(doing);
  if (!start.record.loaded) {
    state.baseline.lost = start.record.failure ?? "it did not load";
    return;
  }
  const wanted = new Set(segments);
  const cards = tools.deck.filter((card) => wanted.has(card.id));
  const counted = cardsFrom(cards, 0, wanted.size);
  const served = await session.serve(state, start, { workers: 1, counted, lead_in: false });
  stopIfAsked(doing);
  if (!undisturbed(state.baseline, served)) return;
  if (!noteTooLong(state, 1, [served])) blameLevels(state);
}

/** Load only; the server is stopped again at once. */
async function ladder({ state, session }: Doing, slots: number): Promise<void> {
  const start = await session.ensure(state, slots, { another: true, warm: false });
  state.ladder.push(start.record);
  await session.close();
}

/** The number that was found, as production samples. */
async function sample(
  { state, session, tools }: Doing,
  { slots, sampling }: Extract<Step, { kind: "sample" }>,
): Promise<void> {
  const { deck, random } = tools;
  const sampled = state.sampled ?? { slots, ...sampling, blocks: [], failed_turns: 0, note: "" };
  const start = await session.ensure(state, slots);
  const stopIf = (): void => stopIfAsked({ state, session, tools });
  stopIf();
  const loaded = start.record.loaded;
  if (!loaded) sampled.note = start.record.failure ?? "it did not load again";
  const good =
    loaded &&
    (await sampledBlock(state, sampled, {
      session,
      start,
      deck,
      random,
      stopIfAsked: stopIf,
      sampling,
    }));
  state.sampled = sampled;
  if (!good) state.sampled_lost += 1;
}

/** A wish: one period with all slots busy at another context. Reported, never judged. */
async function extra(doing: Doing, wish: ExtraWish): Promise<void> {
  const { state, session, tools } = doing;
  const start = await session.ensure(state, wish.slots, {
    another: true,
    context_per_slot: wish.context_per_slot,
  });
  stopIfAsked(doing);
  const record = { ...wish, start: start.record };
  if (!start.record.loaded) {
    const note = `did not load: ${start.record.failure ?? "no reason is known"}`;
    state.extras.push({ ...record, period: null, failed_turns: 0, note });
    return;
  }
  const cards = cardsFrom(usable(state, tools.deck), 0, Math.max(4, 2 * wish.slots));
  const counted = cards.map((card) => sliceOf(card, 1, state.method.seed));
  const served = await session.serve(state, start, {
    workers: wish.slots,
    counted,
    lead_in: true,
  });
  stopIfAsked(doing);
  await session.close();
  const period: Period = periodOf(served);
  const failed_turns = served.counted.filter((turn) => !turn.ok).length;
  const note = served.result.lost ?? served.result.disturbed ?? "";
  state.extras.push({ ...record, period, failed_turns, note });
}

/** Does one step and writes what came of it into the state. */
export async function perform(doing: Doing, step: Exclude<Step, { kind: "done" }>): Promise<void> {
  const { state } = doing;
  switch (step.kind) {
    case "ladder":
      return ladder(doing, step.slots);
    case "noise":
    case "block":
      return block(doing, step.level);
    case "arm":
      return arm(doing, step);
    case "certify":
      return certify(doing, step.level, step.segments);
    case "fit":
      return fit(doing, step.segments);
    case "sample":
      return sample(doing, step);
    case "extra":
      return extra(doing, step.wish);
    case "pace":
      state.pace = step.pace;
      if (step.baseline === "again") state.baseline.blocks = [];
      else state.baseline.ended = "";
      return undefined;
    case "open":
      state.levels.push(step.level);
      return undefined;
    case "close":
      step.level.ended = step.why;
      step.level.measured_to ??= isoTime(doing.tools.clock.now_ms());
      return undefined;
  }
}
