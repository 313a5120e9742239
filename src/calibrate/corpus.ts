import { readFileSync, statSync } from "node:fs";
import { inputError, systemErrorCode } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { contentHash, prettyJson } from "../core/json.ts";
import type { CorpusSummary } from "../verdict/index.ts";
import {
  corpusSchema,
  type Corpus,
  type CorpusMessage,
  type CorpusTool,
  type CorpusTurn,
} from "./corpus-schema.ts";
import type { Segment } from "./device.ts";

/** A corpus with the hash of everything else in it. */
export function sealCorpus(open: Omit<Corpus, "sha256">): Corpus {
  return { ...open, sha256: contentHash(open) };
}

/** Writes a corpus as a whole or not at all; the same corpus gives the same bytes. */
export function writeCorpus(path: string, corpus: Corpus): void {
  // It holds people's prompts: for nobody else's eyes.
  writeFileAtomic(path, prettyJson(corpus), 0o600);
}

function readCorpusFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") {
      throw inputError(
        `${path}: no such corpus`,
        "Make one with `touchstoned slots corpus`.",
        "no_such_file",
      );
    }
    throw inputError(`${path}: cannot read this corpus (${systemErrorCode(error) ?? "too large"})`);
  }
}

function parseCorpus(text: string, path: string): Corpus {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw inputError(`${path}: not JSON`, "Make the corpus again.", "bad_corpus");
  }
  const parsed = corpusSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw inputError(
    `${path}: not a corpus that this version can read: ` +
      `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "wrong"}`,
    "Make the corpus again with `touchstoned slots corpus`.",
    "bad_corpus",
  );
}

/** Whether a corpus is there, of any version, also one that was changed since. */
export function isCorpusFile(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  try {
    const value = JSON.parse(readCorpusFile(path)) as { schema?: unknown } | null;
    return String(value?.schema).startsWith("touchstoned/slot-corpus/");
  } catch {
    return false;
  }
}

/**
 * Reads a corpus and checks its shape and its hash. Throws an input error (exit 64) where the file
 * is not there, is no corpus, or was changed after it was drawn.
 */
export function loadCorpus(path: string): Corpus {
  const corpus = parseCorpus(readCorpusFile(path), path);
  const { sha256, ...rest } = corpus;
  if (contentHash(rest) === sha256) return corpus;
  throw inputError(
    `${path}: was changed after it was drawn (its content is not what its sha256 says)`,
    "Draw it again: numbers measured on an edited corpus could not be compared with any other.",
    "bad_corpus",
  );
}

/** What evidence keeps of a corpus: no prompt, no path. */
export function corpusSummary(corpus: Corpus): CorpusSummary {
  const drawn = new Map(corpus.allocation.map(({ label, segments }) => [label, segments]));
  return {
    sha256: corpus.sha256,
    segments: corpus.segments.length,
    turns: corpus.segments.reduce((sum, { turns }) => sum + turns.length, 0),
    segment_length: corpus.segment_length,
    seed: corpus.seed,
    strata: corpus.population.strata.map(({ label, share }) => ({
      label,
      segments: drawn.get(label) ?? 0,
      pool_share: share,
    })),
    notes: corpus.notes,
  };
}

/** The segments as a sweep sends them, in the corpus's own (shuffled) order. */
export function segmentsOf(corpus: Corpus): Segment[] {
  return corpus.segments.map(({ id, stratum, weight, turns }) => ({
    id,
    stratum,
    weight,
    turns: turns.map((turn) => ({ id: turn.id, segment_id: id })),
  }));
}

const indexes = new WeakMap<Corpus, Map<string, CorpusTurn>>();

/** What to send for one turn. Throws a RangeError where the corpus has no such turn. */
export function turnMessages(
  corpus: Corpus,
  turn_id: string,
): { messages: CorpusMessage[]; tools?: CorpusTool[] | undefined } {
  let index = indexes.get(corpus);
  if (index === undefined) {
    index = new Map(corpus.segments.flatMap(({ turns }) => turns.map((turn) => [turn.id, turn])));
    indexes.set(corpus, index);
  }
  const turn = index.get(turn_id);
  if (turn === undefined) throw new RangeError(`the corpus has no turn ${turn_id}`);
  return { messages: turn.messages, tools: turn.tools };
}
