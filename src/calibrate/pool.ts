import { canonicalJson, contentHash, sha256Hex } from "../core/json.ts";
import type { CorpusMessage, CorpusTool } from "./corpus-schema.ts";

/** One request as it was once made, or could be. Counts are the server's, null where not told. */
export interface RecordedRequest {
  messages: readonly CorpusMessage[];
  tools: readonly CorpusTool[];
  prompt_tokens: number | null;
  output_tokens: number | null;
}

/** What a reader of recordings gives. */
export interface Recordings {
  kind: "bundles" | "requests" | "pack";
  requests: readonly RecordedRequest[];
  /** Caveats for the corpus and for evidence: no path, no name, no prompt. */
  notes: readonly string[];
}

export interface PoolTurn extends RecordedRequest {
  /** Hash of its messages. */
  key: string;
  depth_tokens: number;
  depth_source: "server" | "estimate";
}

/** Consecutive turns of one conversation: the messages of each begin with all those of the last. */
export interface PoolRun {
  id: string;
  /** Runs that branch off one another share a beginning, and this. */
  family: string;
  turns: PoolTurn[];
}

export interface Pool {
  kind: Recordings["kind"];
  /** Of what is in it; the same recordings in another order, or elsewhere, give the same. */
  sha256: string;
  runs: PoolRun[];
  turns: number;
  turns_measured: number;
  characters_per_token: number;
  notes: string[];
}

/** Usual for English text and code; used where the pool's own counts are too few to tell. */
const ASSUMED_CHARACTERS_PER_TOKEN = 4;
const COUNTS_TO_TELL = 5;
/** Below a token for so many characters a count is not that of a whole prompt. */
const MOST_CHARACTERS_PER_TOKEN = 20;

interface Keyed extends RecordedRequest {
  key: string;
  /** Hashes of its beginnings: one message, two ... all but the last. */
  prefixes: string[];
}

/** Half a character, as a log may hold that cuts its texts, has no place in canonical JSON. */
function wellFormed<T>(value: T): T {
  if (typeof value === "string") return value.toWellFormed() as T;
  if (Array.isArray(value)) return value.map((item) => wellFormed(item)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([k, item]) => [k.toWellFormed(), wellFormed(item)])) as T;
}

function keyed(recorded: RecordedRequest): Keyed {
  const request = wellFormed(recorded);
  let key = "";
  const prefixes: string[] = [];
  for (const message of request.messages) {
    if (key !== "") prefixes.push(key);
    key = sha256Hex(`${key}\n${canonicalJson(message)}`);
  }
  return { ...request, key, prefixes };
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}

/** One of each prompt. A count that leaves out what was cached is smaller than the true one. */
function unique(requests: readonly RecordedRequest[]): Map<string, Keyed> {
  const found = new Map<string, Keyed>();
  for (const request of requests) {
    const one = keyed(request);
    const before = found.get(one.key);
    if (before === undefined) found.set(one.key, one);
    else {
      before.prompt_tokens = larger(before.prompt_tokens, one.prompt_tokens);
      before.output_tokens = larger(before.output_tokens, one.output_tokens);
    }
  }
  return found;
}

function characters({ messages, tools }: RecordedRequest): number {
  let sum = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  for (const { content, tool_calls = [] } of messages) {
    sum += content.length;
    for (const call of tool_calls) sum += call.name.length + call.arguments_text.length;
  }
  return sum;
}

/** The next turn of each request: where several go on from it, the one that leads furthest. */
function heirs(sorted: readonly Keyed[], parentOf: ReadonlyMap<Keyed, string>) {
  const height = new Map<string, number>();
  const heir = new Map<string, { key: string; height: number }>();
  for (const request of sorted.toReversed()) {
    const own = height.get(request.key) ?? 0;
    const parent = parentOf.get(request);
    if (parent === undefined || own < (heir.get(parent)?.height ?? 0)) continue;
    heir.set(parent, { key: request.key, height: own });
    height.set(parent, own + 1);
  }
  return heir;
}

/** Shortest first, so that a turn is always seen after the one that it goes on from. */
function chain(requests: ReadonlyMap<string, Keyed>): { family: string; turns: Keyed[] }[] {
  const sorted = [...requests.values()].toSorted(
    (a, b) => a.messages.length - b.messages.length || (a.key < b.key ? -1 : 1),
  );
  const parentOf = new Map<Keyed, string>();
  for (const request of sorted) {
    const parent = request.prefixes.findLast((prefix) => requests.has(prefix));
    if (parent !== undefined) parentOf.set(request, parent);
  }
  const heir = heirs(sorted, parentOf);
  const runs: { family: string; turns: Keyed[] }[] = [];
  const runOf = new Map<string, { family: string; turns: Keyed[] }>();
  for (const request of sorted) {
    const parent = parentOf.get(request) ?? "";
    const before = runOf.get(parent);
    let run = before;
    if (run === undefined || heir.get(parent)?.key !== request.key) {
      run = { family: before?.family ?? request.key, turns: [] };
      runs.push(run);
    }
    run.turns.push(request);
    runOf.set(request.key, run);
  }
  return runs;
}

/** Takes back the counts that cannot be those of whole prompts; how many those were. */
function dropPartialCounts(turns: readonly Keyed[]): number {
  let dropped = 0;
  let deepest = 0;
  for (const turn of turns) {
    const told = turn.prompt_tokens;
    if (told === null) continue;
    // A conversation only grows; a server that counts what it had not cached tells less.
    if (told > deepest && characters(turn) <= told * MOST_CHARACTERS_PER_TOKEN) deepest = told;
    else {
      turn.prompt_tokens = null;
      dropped += 1;
    }
  }
  return dropped;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const [low = 0, high = 0] = [sorted[half - 1 + (sorted.length % 2)], sorted[half]];
  return (low + high) / 2;
}

function charactersPerToken(turns: readonly Keyed[]): number {
  const ratios = turns.flatMap((turn) =>
    turn.prompt_tokens === null ? [] : [characters(turn) / turn.prompt_tokens],
  );
  const told = ratios.length >= COUNTS_TO_TELL ? median(ratios) : 0;
  return told > 0 ? Math.round(told * 1000) / 1000 : ASSUMED_CHARACTERS_PER_TOKEN;
}

function poolTurn(turn: Keyed, characters_per_token: number): PoolTurn {
  const { key, messages, tools, prompt_tokens, output_tokens } = turn;
  return {
    key,
    messages,
    tools,
    prompt_tokens,
    output_tokens,
    depth_tokens: prompt_tokens ?? Math.ceil(characters(turn) / characters_per_token),
    depth_source: prompt_tokens === null ? "estimate" : "server",
  };
}

function depthNotes(pool: Omit<Pool, "notes">, dropped: number): string[] {
  const notes: string[] = [];
  const estimated = pool.turns - pool.turns_measured;
  if (estimated > 0) {
    const how =
      pool.turns_measured >= COUNTS_TO_TELL ? "the pool's own median" : "assumed, not measured";
    notes.push(
      `the depth of ${estimated} of ${pool.turns} turns is an estimate ` +
        `(${pool.characters_per_token} characters a token, ${how})`,
    );
  }
  if (dropped > 0) {
    notes.push(
      `${dropped} recorded prompt counts were left out: they are too small for their prompts, as ` +
        "those of servers that count only what they had not cached",
    );
  }
  return notes;
}

/**
 * Puts recorded requests together to conversations. The same prompt twice (a retry, a repeat, another
 * model) is one turn; a request whose messages go on from another's is that one's next turn.
 */
export function makePool(recordings: Recordings): Pool {
  const requests = unique(recordings.requests);
  const runs = chain(requests);
  const dropped = runs.reduce((sum, run) => sum + dropPartialCounts(run.turns), 0);
  const all = [...requests.values()];
  const characters_per_token = charactersPerToken(all);
  const digest = all.map(({ key, tools, prompt_tokens, output_tokens }) =>
    contentHash([key, tools, prompt_tokens, output_tokens]),
  );
  const pool = {
    kind: recordings.kind,
    sha256: sha256Hex(digest.sort().join("\n")),
    runs: runs.map(({ family, turns }) => ({
      id: `r${(turns[0]?.key ?? "").slice(0, 12)}`,
      family,
      turns: turns.map((turn) => poolTurn(turn, characters_per_token)),
    })),
    turns: all.length,
    turns_measured: all.filter(({ prompt_tokens }) => prompt_tokens !== null).length,
    characters_per_token,
  };
  return { ...pool, notes: [...recordings.notes, ...depthNotes(pool, dropped)] };
}
