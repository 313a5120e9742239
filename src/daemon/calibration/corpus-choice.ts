import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  DEFAULT_STRATA,
  drawCorpus,
  loadCorpus,
  makePool,
  writeCorpus,
  type Corpus,
} from "../../calibrate/index.ts";
import { inputError, TouchstonedError } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { bundleRecordings } from "./recordings.ts";

const SEED = 1;
const MIN_PER_STRATUM = 2;

/**
 * The corpus that is named, else the one that this station measured with before, else one drawn from
 * what the station has run, which is kept for the next time. Throws an input error (64) where there is
 * nothing to draw from.
 */
export function chooseCorpus(options: {
  path: string | undefined;
  state_dir: string;
  runs_dir: string;
  note: (text: string) => void;
}): Corpus {
  const { path, state_dir, runs_dir, note } = options;
  if (path !== undefined) return loadCorpus(path);
  const own = join(state_dir, "slots", "corpus.json");
  if (existsSync(own)) return loadCorpus(own);
  let recordings: ReturnType<typeof bundleRecordings>;
  try {
    recordings = bundleRecordings(runs_dir);
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    throw inputError(
      `there is no corpus to measure with, and none can be drawn: ${error.message}`,
      "Make one of your own requests: touchstoned slots corpus --pool requests.jsonl --out corpus.json; then give it with --corpus.",
      "no_corpus",
    );
  }
  for (const warning of recordings.warnings) note(warning);
  const corpus = drawCorpus(makePool(recordings), {
    strata: [...DEFAULT_STRATA],
    min_per_stratum: MIN_PER_STRATUM,
    seed: SEED,
    allow_shared_prefix: false,
  });
  ensureDir(join(state_dir, "slots"), 0o700);
  writeCorpus(own, corpus);
  note(`drew a corpus of ${corpus.segments.length} segments from what this station has run`);
  return corpus;
}
