import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  corpusSummary,
  DEFAULT_DRAW,
  drawCorpus,
  isCorpusFile,
  makePool,
  readRequestLogs,
  writeCorpus,
  type Corpus,
  type DrawOptions,
  type Recordings,
} from "../../calibrate/index.ts";
import { EXIT, usageError } from "../../core/errors.ts";
import { table } from "../../core/markdown.ts";
import { bundleRecordings, packRecordings } from "../../daemon/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { openWorkplace } from "../measuring.ts";

export interface SlotsCorpusOptions {
  pool?: string[];
  /** True where no directory was named. */
  fromRuns?: string | true;
  pack?: string;
  out: string;
  segments?: string;
  segmentLength?: string;
  strata?: string;
  minPerStratum?: string;
  seed?: string;
  allowSharedPrefix?: boolean;
  station?: string;
  json?: boolean;
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text.trim()) || !Number.isSafeInteger(value) || value < least) {
    throw usageError(`--${name}: "${text}" is not a whole number of ${least} or more`);
  }
  return value;
}

function strataOf(text: string): number[] {
  const edges = text.split(",").map((edge) => whole("strata", edge, 1));
  if (edges.some((edge, i) => i > 0 && edge <= (edges[i - 1] ?? 0))) {
    throw usageError(`--strata: ${text} does not rise`, "Example: --strata 4096,16384");
  }
  return edges;
}

/** The number that was given, or what holds where none was. */
function given<T>(name: string, text: string | undefined, least: number, otherwise: T) {
  return text === undefined ? otherwise : whole(name, text, least);
}

function drawOptions(options: SlotsCorpusOptions): DrawOptions {
  const { strata, min_per_stratum, seed } = DEFAULT_DRAW;
  return {
    segments: given("segments", options.segments, 1, undefined),
    segment_length: given("segment-length", options.segmentLength, 1, undefined),
    strata: options.strata === undefined ? strata : strataOf(options.strata),
    min_per_stratum: given("min-per-stratum", options.minPerStratum, 0, min_per_stratum),
    seed: given("seed", options.seed, 0, seed),
    allow_shared_prefix: options.allowSharedPrefix === true,
  };
}

async function recordings(
  options: SlotsCorpusOptions,
  context: CommandContext,
): Promise<Recordings & { warnings?: string[] }> {
  const { pool, fromRuns, pack, station } = options;
  if ([pool, fromRuns, pack].filter((source) => source !== undefined).length !== 1) {
    throw usageError("give one of --pool, --from-runs and --pack");
  }
  const at = (path: string) => resolve(context.cwd, path);
  if (pool !== undefined) return readRequestLogs(pool.map(at));
  if (pack !== undefined) return packRecordings(at(pack));
  if (typeof fromRuns === "string") return bundleRecordings(at(fromRuns));
  return bundleRecordings((await openWorkplace(station, context)).runs_dir);
}

function strataTable(corpus: Corpus): string {
  const drawn = new Map(corpus.allocation.map(({ label, segments }) => [label, segments]));
  const rows = corpus.population.strata.map(({ label, turns, share }) => [
    label,
    String(turns),
    `${(share * 100).toFixed(1)} %`,
    String(drawn.get(label) ?? 0),
  ]);
  return table(["depth, tokens", "turns in the pool", "share", "segments"], rows);
}

/** A corpus may be drawn again; nothing else is written over, least of all the log it is drawn from. */
function refuseOther(out: string): void {
  if (!existsSync(out) || isCorpusFile(out)) return;
  throw usageError(`--out: ${out} is there and is no corpus`, "Give another name.");
}

export const run: CommandAction<SlotsCorpusOptions> = async (options, context) => {
  const { terminal, cwd } = context;
  const draw = drawOptions(options);
  const path = resolve(cwd, options.out);
  refuseOther(path);
  const { warnings = [], ...recorded } = await recordings(options, context);
  for (const warning of warnings) terminal.err(`warning: ${warning}`);
  const corpus = drawCorpus(makePool(recorded), draw);
  writeCorpus(path, corpus);
  const summary = corpusSummary(corpus);
  if (options.json === true) {
    terminal.json({ path, ...summary, source: corpus.source, population: corpus.population });
    return EXIT.done;
  }
  terminal.out(
    `${summary.segments} segments of ${summary.segment_length} turns, drawn from ` +
      `${corpus.population.turns} turns in ${corpus.population.runs} conversations\n`,
  );
  terminal.out(strataTable(corpus));
  terminal.out(`\ncorpus: ${path}\nsha256: ${corpus.sha256}`);
  for (const note of corpus.notes) terminal.err(`note: ${note}`);
  return EXIT.done;
};
