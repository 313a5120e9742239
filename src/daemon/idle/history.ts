// What is remembered of calibrations that the daemon tried by itself, over its own restarts. Pure.
import type { TreeMark } from "../../core/process.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * `not_now`: the device was not free; `failed`: it was tried and came to nothing; `cannot`: as things
 * stand it can never be measured; `budget`: the day's time is used up.
 */
export type TroubleKind = "not_now" | "failed" | "cannot" | "budget";

/** Why a request is left alone for a while. Wall clock, since it outlives the boot. */
export interface Trouble {
  kind: TroubleKind;
  /** Of the error, for what may end it early. */
  code: string;
  why: string;
  at_ms: number;
  until_ms: number;
  /** When it had been asked for: another time is another question, and clocks may be set. */
  asked_ms: number;
  /** What the configuration was: another one is worth another try. */
  configuration: string;
}

interface KeyHistory {
  /** How often each kind came in a row, with nothing gained between. */
  counts: Partial<Record<TroubleKind, number>>;
  /** Daemons that ended in the middle of it, one after the other, and nothing was gained. */
  deaths: number;
  trouble: Trouble | null;
}

interface Begun {
  key: string;
  asked_ms: number;
  at_ms: number;
  /** A step of it is done and kept. */
  gained: boolean;
  /** Its processes; null before they were started. */
  tree: TreeMark | null;
}

export interface IdleHistory {
  schema_version: 1;
  /** The calibration that is under way; of an earlier daemon, where this one has begun none. */
  begun: Begun | null;
  keys: Record<string, KeyHistory>;
  /** Tries to commit what waits in the outbox. */
  outbox: { tries: number; at_ms: number; until_ms: number } | null;
  /** When stale things were last looked for. */
  tidied_ms: number | null;
}

export const NO_HISTORY: IdleHistory = {
  schema_version: 1,
  begun: null,
  keys: {},
  outbox: null,
  tidied_ms: null,
};

/** The pause after the first of a kind; each further one doubles it, up to the longest. */
const PAUSES: Readonly<Record<TroubleKind, { first_ms: number; longest_ms: number }>> = {
  not_now: { first_ms: 2 * MINUTE_MS, longest_ms: HOUR_MS },
  failed: { first_ms: HOUR_MS, longest_ms: DAY_MS },
  cannot: { first_ms: HOUR_MS, longest_ms: DAY_MS },
  budget: { first_ms: DAY_MS, longest_ms: DAY_MS },
};
const OUTBOX_PAUSE = { first_ms: 5 * MINUTE_MS, longest_ms: 6 * HOUR_MS };
const TIDY_EVERY_MS = DAY_MS;
/** So many daemons may end in the middle of it before that counts as a failure. */
const MOST_DEATHS = 3;

function pause_ms({ first_ms, longest_ms }: typeof OUTBOX_PAUSE, count: number): number {
  return Math.min(first_ms * 2 ** Math.min(count - 1, 30), longest_ms);
}

function keyOf(history: IdleHistory, key: string): KeyHistory {
  return history.keys[key] ?? { counts: {}, deaths: 0, trouble: null };
}

function withKey(history: IdleHistory, key: string, entry: KeyHistory): IdleHistory {
  return { ...history, keys: { ...history.keys, [key]: entry } };
}

function without(history: IdleHistory, gone: (key: string, entry: KeyHistory) => boolean) {
  const kept = Object.entries(history.keys).filter(([key, entry]) => !gone(key, entry));
  return { ...history, keys: Object.fromEntries(kept) };
}

/** A pause is over in time, and where the clock was set back so far that it says nothing any more. */
function isOver({ at_ms, until_ms }: { at_ms: number; until_ms: number }, now_ms: number): boolean {
  return now_ms >= until_ms || now_ms < at_ms - 2 * HOUR_MS || until_ms - now_ms > DAY_MS;
}

export function begin(
  history: IdleHistory,
  { key, asked_ms }: { key: string; asked_ms: number },
  now_ms: number,
): IdleHistory {
  return { ...history, begun: { key, asked_ms, at_ms: now_ms, gained: false, tree: null } };
}

/** Its processes are there, so that another daemon finds them. */
export function started(history: IdleHistory, tree: TreeMark): IdleHistory {
  const { begun } = history;
  return begun === null ? history : { ...history, begun: { ...begun, tree } };
}

/** A step of it is done and kept: it does not matter any more how often it was interrupted. */
export function gained(history: IdleHistory): IdleHistory {
  const { begun } = history;
  if (begun === null || begun.gained) return history;
  const entry = keyOf(history, begun.key);
  const next = withKey(history, begun.key, { ...entry, deaths: 0 });
  return { ...next, begun: { ...begun, gained: true } };
}

/** How a calibration ended. `quiet`: it gave way, or nobody asks for it any more. */
export type End =
  | { kind: "measured" }
  | { kind: "quiet" }
  | { kind: TroubleKind; code: string; why: string; configuration: string };

export function end(
  history: IdleHistory,
  { key, asked_ms }: { key: string; asked_ms: number },
  how: End,
  now_ms: number,
): IdleHistory {
  const ended = { ...history, begun: null };
  if (how.kind === "measured") return without(ended, (one) => one === key);
  const entry = keyOf(ended, key);
  if (how.kind === "quiet") {
    return withKey(ended, key, { counts: entry.counts, deaths: 0, trouble: null });
  }
  const { kind, code, why, configuration } = how;
  const count = (entry.counts[kind] ?? 0) + 1;
  const from_ms = kind === "budget" ? (history.begun?.at_ms ?? now_ms) : now_ms;
  const until_ms = from_ms + pause_ms(PAUSES[kind], count);
  return withKey(ended, key, {
    counts: { ...entry.counts, [kind]: count },
    deaths: 0,
    trouble: { kind, code, why, at_ms: now_ms, until_ms, asked_ms, configuration },
  });
}

/** At the start of a daemon: what an earlier one began and did not end. */
export function died(history: IdleHistory, configuration: string, now_ms: number): IdleHistory {
  const { begun } = history;
  if (begun === null) return history;
  const entry = keyOf(history, begun.key);
  const deaths = begun.gained ? 0 : entry.deaths + 1;
  if (deaths >= MOST_DEATHS) {
    const why = `the daemon ended ${deaths} times in the middle of it, and nothing was gained`;
    const how: End = { kind: "failed", code: "died", why, configuration };
    return end(history, begun, how, now_ms);
  }
  return withKey({ ...history, begun: null }, begun.key, { ...entry, deaths });
}

/** What the station has not run yet cannot be drawn from; its next bundle may be what is missing. */
const NO_CORPUS: ReadonlySet<string> = new Set(["no_corpus", "pool_too_small"]);

function lacksCorpus({ trouble }: KeyHistory): boolean {
  return NO_CORPUS.has(trouble?.code ?? "");
}

/** A job has ended, so there may be something to draw a corpus from now. */
export function jobEnded(history: IdleHistory): IdleHistory {
  return Object.values(history.keys).some(lacksCorpus)
    ? without(history, (_, entry) => lacksCorpus(entry))
    : history;
}

/** Forgets requests that are not open any more. */
export function forget(history: IdleHistory, open: readonly string[]): IdleHistory {
  const known = new Set(open);
  const gone = Object.keys(history.keys).some((key) => !known.has(key));
  return gone ? without(history, (key) => !known.has(key)) : history;
}

/** What keeps a request waiting; null where it may be tried. `asked_ms`: a person asked (again). */
export function troubleOf(
  history: IdleHistory,
  request: { key: string; asked_ms: number },
  now: { now_ms: number; configuration: string },
): Trouble | null {
  const { trouble } = keyOf(history, request.key);
  if (trouble === null || isOver(trouble, now.now_ms)) return null;
  if (request.asked_ms !== trouble.asked_ms) return null;
  const settled = trouble.kind === "cannot" || trouble.kind === "failed";
  return settled && trouble.configuration !== now.configuration ? null : trouble;
}

export function outboxDue({ outbox }: IdleHistory, now_ms: number): boolean {
  return outbox === null || isOver(outbox, now_ms);
}

export function tidyDue({ tidied_ms }: IdleHistory, now_ms: number): boolean {
  return tidied_ms === null || now_ms < tidied_ms - HOUR_MS || now_ms - tidied_ms >= TIDY_EVERY_MS;
}

/** After housekeeping: `waiting` could not be committed. */
export function housekept(history: IdleHistory, waiting: number, now_ms: number): IdleHistory {
  const next = { ...history, tidied_ms: now_ms };
  if (waiting === 0) return { ...next, outbox: null };
  const tries = (history.outbox?.tries ?? 0) + 1;
  const until_ms = now_ms + pause_ms(OUTBOX_PAUSE, tries);
  return { ...next, outbox: { tries, at_ms: now_ms, until_ms } };
}
