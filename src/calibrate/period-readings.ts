import type { Readings } from "../verdict/index.ts";
import type { Cold } from "./cold.ts";
import type { LogCounts } from "./log-facts.ts";
import { turnFault, type TurnFault } from "./outcome.ts";
import type { SentTurn } from "./replay.ts";
import type { Watched } from "./watch.ts";

/** What a recorder of this machine's state tells of one measured window. */
export type RecordedReadings = Pick<
  Readings,
  | "samples"
  | "host_used_peak_mb"
  | "host_total_mb"
  | "cgroup_used_peak_mb"
  | "cgroup_limit_mb"
  | "gpus"
  | "swap_out_mb_per_min"
  | "pressure_stall_share"
  | "pressure_level"
  | "throttled"
  | "stolen_time_share"
  | "unavailable"
>;

/** Samples memory, swap, pressure and throttling from `start` to `stop`, window after window. */
export interface ReadingsRecorder {
  /** Until what helps it has spoken or failed. */
  ready: (limit_ms: number) => Promise<void>;
  start: () => void;
  stop: () => RecordedReadings;
  close: () => void;
}

/** How long the helpers of a recorder may take to begin. */
export const RECORDER_LIMIT_MS = 15_000;

export interface PeriodFacts {
  turns: readonly SentTurn[];
  /** What the log said during the period, or why it cannot be told. */
  log: { counts: LogCounts } | { unreadable: string };
  watched: Watched;
  recorded: RecordedReadings;
  /** Tokens of context that each slot has; null where that could not be read. */
  context_read: number | null;
  /** Prompt tokens of a turn when it was first sent; a later, smaller number is a cut prompt. */
  known_prompts: Map<string, number>;
  cold: Cold;
  /** Whether a lost cache entry of this server always ends the answer with an error. */
  loud_evictions: boolean;
  /** Whether this server never loads by itself, as long as its process lives. */
  fixed_model: boolean;
}

type Told = { value: number } | { unknown: string };

/** A nonce may be split into tokens a little differently; a cut prompt lacks more than that. */
const NONCE_SLACK = 4;

function lostTokens(facts: PeriodFacts): number | null {
  const slack = facts.cold === "nonce" ? NONCE_SLACK : 0;
  let cut = 0;
  let uncounted = 0;
  for (const { turn, result } of facts.turns) {
    const { prompt_tokens } = result.usage;
    if (!result.ok) continue;
    if (prompt_tokens === null) uncounted += 1;
    else {
      const known = facts.known_prompts.get(turn.id);
      if (known === undefined) facts.known_prompts.set(turn.id, prompt_tokens);
      else if (prompt_tokens + slack < known) cut += 1;
    }
  }
  return uncounted > 0 ? null : cut;
}

function cutPrompts(facts: PeriodFacts, by_fault: number): Told {
  const lost = lostTokens(facts);
  if ("counts" in facts.log) {
    return { value: Math.max(facts.log.counts.truncations, by_fault + (lost ?? 0)) };
  }
  if (lost === null) return { unknown: `no count of prompt tokens, and ${facts.log.unreadable}` };
  return { value: by_fault + lost };
}

/** Without a log: what never filled its context cannot have been shifted. */
function shifts({ log, turns, context_read }: PeriodFacts): Told {
  if ("counts" in log) return { value: log.counts.shifts };
  if (context_read === null) return { unknown: log.unreadable };
  for (const { result } of turns) {
    const { prompt_tokens, completion_tokens } = result.usage;
    if (!result.ok) continue;
    if (prompt_tokens === null || completion_tokens === null) return { unknown: log.unreadable };
    if (prompt_tokens + completion_tokens > context_read) return { unknown: log.unreadable };
  }
  return { value: 0 };
}

function evictions({ log, turns, loud_evictions }: PeriodFacts): Told {
  if ("counts" in log) return { value: log.counts.evictions };
  const whole = turns.every(({ result }) => result.ok);
  return loud_evictions && whole ? { value: 0 } : { unknown: log.unreadable };
}

function reloads({ log, fixed_model }: PeriodFacts): Told {
  if ("counts" in log) return { value: log.counts.loads };
  return fixed_model ? { value: 0 } : { unknown: log.unreadable };
}

/** All that one period says about the bounds. What cannot be read is null, and says why. */
export function periodReadings(facts: PeriodFacts): Readings {
  const unavailable: Record<string, string> = { ...facts.recorded.unavailable };
  const told = (name: string, what: Told): number | null => {
    if ("value" in what) return what.value;
    unavailable[name] = what.unknown;
    return null;
  };
  const kinds = facts.turns.map(({ result }) => turnFault(result));
  const count = (kind: TurnFault): number => kinds.filter((one) => one === kind).length;
  const { alone, reason } = facts.watched;
  if (alone === null) unavailable["alone"] = reason ?? "cannot be read";
  const device = "counts" in facts.log ? facts.log.counts.device_failures : 0;
  return {
    ...facts.recorded,
    alone,
    // A device that failed under a request that went well all the same is no healthy device.
    failed_turns: count("failed") + (count("failed") === 0 ? device : 0),
    cut_prompts: told("cut_prompts", cutPrompts(facts, count("cut"))),
    context_shifts: told("context_shifts", shifts(facts)),
    unfinished_turns: count("unfinished"),
    evicted_turns: told("evicted_turns", evictions(facts)),
    model_reloads: told("model_reloads", reloads(facts)),
    unavailable,
  };
}
