import { inputError, type TouchstonedError } from "../core/errors.ts";
import { namedRandom } from "../models/index.ts";
import { Assignment } from "./assign.ts";
import { sealCorpus } from "./corpus.ts";
import {
  CORPUS_SCHEMA,
  SEGMENTS_FOR_FIDELITY,
  type Corpus,
  type CorpusSegment,
  type CorpusTurn,
} from "./corpus-schema.ts";
import { drawNotes } from "./corpus-notes.ts";
import type { Pool, PoolTurn } from "./pool.ts";
import { quotas, stratumLabels, stratumOf } from "./strata.ts";
import {
  capacity,
  choicesOf,
  shuffle,
  type Choice,
  type Window,
  type WindowOptions,
} from "./windows.ts";

export const DEFAULT_STRATA: readonly number[] = [1024, 4096, 16_384, 32_768];
/** Enough for a fidelity verdict that sees two changed answers. */
const SEGMENTS_WANTED = 128;
const DEFAULT_LENGTHS = [3, 2, 1];

export interface DrawOptions extends WindowOptions {
  /** Exactly so many; undefined = up to 128, at least the 59 of a fidelity verdict. */
  segments?: number | undefined;
  /** Consecutive turns; undefined = the longest of 3, 2 and 1 of which the pool has enough. */
  segment_length?: number | undefined;
  min_per_stratum: number;
}

/** Places segments by quota: minima first, rarest stratum first; what stays free goes anywhere. */
function assign(choices: readonly Choice[], want: number, shares: number[], minimum: number) {
  const units = choices.map((windows) => new Set(windows.map(({ stratum }) => stratum)));
  const available = shares.map((_, i) => units.filter((unit) => unit.has(i)).length);
  const quota = quotas(want, shares, { minimum, available });
  const rarest = [...shares.keys()].toSorted(
    (a, b) => (available[a] ?? 0) - (available[b] ?? 0) || b - a,
  );
  const assignment = new Assignment(units);
  const upTo = (limit: (quota: number) => number): void => {
    for (const i of rarest) {
      while (assignment.count(i) < limit(quota[i] ?? 0) && assignment.place(i)) continue;
    }
  };
  upTo((n) => Math.min(minimum, n));
  upTo((n) => n);
  const lack = (i: number): number => (shares[i] ?? 0) * want - assignment.count(i);
  while (assignment.placed.size < want) {
    const byLack = [...shares.keys()].toSorted((a, b) => lack(b) - lack(a));
    if (!byLack.some((i) => assignment.place(i))) break;
  }
  return { placed: assignment.placed, quota };
}

function turnOf(turn: PoolTurn, id: string): CorpusTurn {
  return {
    id,
    messages: [...turn.messages],
    ...(turn.tools.length === 0 ? {} : { tools: [...turn.tools] }),
    recorded_prompt_tokens: turn.prompt_tokens,
    recorded_output_tokens: turn.output_tokens,
  };
}

function segmentOf({ run, start }: Window, length: number, stratum: string, weight: number) {
  const turns = run.turns.slice(start, start + length);
  const [first] = turns;
  return {
    id: `${run.id}.${start}`,
    run: run.id,
    stratum,
    weight,
    depth_tokens: first?.depth_tokens ?? 0,
    depth_source: first?.depth_source ?? "estimate",
    turns: turns.map((turn, k) => turnOf(turn, `${run.id}.${start + k}`)),
  } satisfies CorpusSegment;
}

function turnsByStratum(pool: Pool, edges: readonly number[]): number[] {
  const turns = stratumLabels(edges).map(() => 0);
  for (const { depth_tokens } of pool.runs.flatMap((run) => run.turns)) {
    const at = stratumOf(depth_tokens, edges);
    turns[at] = (turns[at] ?? 0) + 1;
  }
  return turns;
}

function tooSmall(
  pool: Pool,
  length: number,
  need: number,
  options: DrawOptions,
): TouchstonedError {
  const has = capacity(pool, length, options.allow_shared_prefix);
  const stretch = length === 1 ? "one turn" : `${length} consecutive turns`;
  const alone = options.allow_shared_prefix ? "" : ", no two with a shared beginning";
  const ways = [
    `add ${need - has} more conversations of ${stretch}${length === 1 ? "" : " or more"}`,
  ];
  for (const shorter of DEFAULT_LENGTHS.filter((n) => n < length)) {
    const n = capacity(pool, shorter, options.allow_shared_prefix);
    if (n > has) ways.push(`--segment-length ${shorter} carries ${n}`);
  }
  const shared = capacity(pool, length, true);
  if (!options.allow_shared_prefix && shared > has) {
    ways.push(`--allow-shared-prefix carries ${shared}, though no longer independent ones`);
  }
  if (has > 0) {
    ways.push(`--segments ${has} draws what there is, which can prove no number above 1`);
  }
  const why =
    options.segments === undefined ? "are needed for a fidelity verdict" : "were asked for";
  return inputError(
    `the pool carries ${has} segments of ${stretch}${alone}; ` +
      `${need} ${why}, so ${need - has} are missing ` +
      `(${pool.turns} turns in ${pool.runs.length} conversations)`,
    `Ways: ${ways.join("; ")}.`,
    "pool_too_small",
  );
}

function chooseLength(pool: Pool, need: number, options: DrawOptions): number {
  const { segment_length, allow_shared_prefix } = options;
  if (segment_length !== undefined) return segment_length;
  const enough = DEFAULT_LENGTHS.find((n) => capacity(pool, n, allow_shared_prefix) >= need);
  return enough ?? 1;
}

/**
 * Draws a corpus: the same pool, options and seed give the same corpus. Throws an input error
 * (`pool_too_small`) that says what is missing where the pool does not have enough segments.
 */
export function drawCorpus(pool: Pool, options: DrawOptions): Corpus {
  const need = options.segments ?? SEGMENTS_FOR_FIDELITY;
  const length = chooseLength(pool, need, options);
  const choices = choicesOf(pool, length, options);
  if (choices.length < need) throw tooSmall(pool, length, need, options);
  const labels = stratumLabels(options.strata);
  const turns = turnsByStratum(pool, options.strata);
  const shares = turns.map((n) => n / pool.turns);
  const want = Math.min(choices.length, options.segments ?? SEGMENTS_WANTED);
  const { placed, quota } = assign(choices, want, shares, options.min_per_stratum);
  const drawn = labels.map((_, i) => [...placed.values()].filter((at) => at === i).length);
  const covered = shares.reduce((sum, share, i) => sum + ((drawn[i] ?? 0) > 0 ? share : 0), 0);
  // A segment stands for its stratum's share of the pool's turns; the mean over segments is 1.
  const weights = shares.map((share, i) => (share / covered / (drawn[i] ?? 0)) * placed.size);
  const pick = namedRandom(options.seed, "windows");
  const segments = [...placed].map(([unit, stratum]) => {
    const windows = (choices[unit] ?? []).filter((window) => window.stratum === stratum);
    const window = windows[Math.floor(pick() * windows.length)];
    if (window === undefined) throw new TypeError("a segment was placed where it has no window");
    return segmentOf(window, length, labels[stratum] ?? "", weights[stratum] ?? 1);
  });
  const shuffled = shuffle(segments, namedRandom(options.seed, "order"));
  return sealCorpus({
    schema: CORPUS_SCHEMA,
    seed: options.seed,
    segment_length: length,
    strata: [...options.strata],
    shared_prefix_allowed: options.allow_shared_prefix,
    source: { kind: pool.kind, sha256: pool.sha256 },
    population: {
      runs: pool.runs.length,
      turns: pool.turns,
      turns_measured: pool.turns_measured,
      characters_per_token: pool.characters_per_token,
      strata: labels.map((label, i) => ({
        label,
        turns: turns[i] ?? 0,
        share: shares[i] ?? 0,
      })),
    },
    allocation: labels.map((label, i) => ({ label, segments: drawn[i] ?? 0 })),
    notes: [
      ...pool.notes,
      ...drawNotes({ segments: shuffled, labels, turns, drawn, quota, options }),
    ],
    segments: shuffled,
  });
}
