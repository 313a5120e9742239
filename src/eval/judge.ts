import { isoTime, type Clock } from "../core/clock.ts";
import type { UlidSource } from "../core/ids.ts";
import type { Fault, Runner } from "../runners/index.ts";
import { bundlePaths } from "./bundle-paths.ts";
import {
  judgedCells,
  judgeFileHashes,
  readWholeBundle,
  writeJudgeSection,
} from "./judge-bundle.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { JudgeEventLog } from "./judge-events.ts";
import { identifyJudge } from "./judge-identity.ts";
import {
  isStopped,
  judgeAll,
  keepReports,
  ordered,
  type JudgeProgress,
  type JudgeRun,
} from "./judge-phases.ts";
import { PROMPT_VERSION } from "./judge-prompt.ts";
import { separateJudges, writeLines } from "./judge-store.ts";
import { answerHash } from "./judge-verdict.ts";
import { cellKeyText } from "./matrix.ts";
import type { JudgeIdentity } from "./records.ts";
import { writeResult } from "./result-json.ts";
import { writeScorecard } from "./scorecard.ts";
import { writeScores } from "./scores-csv.ts";

/** Longest wait for the judge's model to come into memory, seconds. */
const LOAD_LIMIT_S = 3600;

export interface JudgeOptions {
  bundle_dir: string;
  config: JudgeConfig;
  /** The judge's name at its runner. */
  model: string;
  runner: Runner;
  clock: Clock;
  /** Also the source of the marks that frame an answer: nobody who answers can know them. */
  new_id: UlidSource;
  signal?: AbortSignal;
  onProgress?: (progress: JudgeProgress) => void;
}

export interface JudgeOutcome {
  /** 1: calls failed that a retry may cure; 69: the judge is not there or the breaker opened. */
  exit_code: 0 | 1 | 69;
  /** null where the judge could not be reached. */
  judge: JudgeIdentity | null;
  total: number;
  scored: number;
  unscored: number;
  /** Answers whose call failed; they have no verdict. */
  failed: number;
  /** Reports with scores, and reports without. */
  reports_scored: number;
  reports_unscored: number;
  breaker: string | null;
  /** Why the exit code is not 0. */
  reason: string | null;
  /** What people should know beside it. */
  notes: string[];
}

/** Why the judge cannot be asked at all; null once its model is in memory. */
async function bringUp(options: JudgeOptions): Promise<Fault | null> {
  const { runner, model, signal } = options;
  const before = await runner.findFault(model);
  if (before !== null && before.class !== "loading") return before;
  options.onProgress?.({ stage: "load", done: 0, total: 1, text: model });
  const load = await runner.load(model, {
    limit_s: LOAD_LIMIT_S,
    extra_body: options.config.extra_body,
    ...(signal === undefined ? {} : { signal }),
  });
  if (load.outcome === "failed") return load.fault;
  return before === null ? null : runner.findFault(model);
}

/**
 * Judges the answers of a whole bundle and writes verdicts, reports, scores, scorecard and result.
 * What an earlier run of the same judge decided is kept; the work of another judge is set aside.
 * Throws an input error where the bundle is not whole; trouble with the judge is an outcome.
 */
export async function runJudge(options: JudgeOptions): Promise<JudgeOutcome> {
  const view = readWholeBundle(options.bundle_dir);
  const cells = judgedCells(view);
  const fault = await bringUp(options);
  if (fault !== null) return unreachable(cells.length, fault);
  const judge = await identifyJudge(options.runner, options.model, options.config);
  const prior = separateJudges(options.bundle_dir, judge.hash);
  const answers = new Map(cells.map((cell) => [cellKeyText(cell.response), answerHash(cell)]));
  const done = prior.verdicts.filter(
    (verdict) =>
      !verdict.judge_error && answers.get(cellKeyText(verdict)) === verdict.answer_sha256,
  );
  const { runner, model, config, clock, signal } = options;
  const log = new JudgeEventLog(bundlePaths(options.bundle_dir).judge_events, clock);
  const run: JudgeRun = {
    view,
    caller: { runner, model, config, clock, signal },
    judge,
    new_mark: options.new_id,
    onProgress: options.onProgress ?? (() => undefined),
    log,
    cells,
    verdicts: new Map(done.map((verdict) => [cellKeyText(verdict), verdict])),
    reports: [],
    failed: 0,
    consecutive: 0,
    breaker: null,
    reports_failed: 0,
    too_long: 0,
  };
  try {
    run.reports = keepReports(run, prior.reports);
    await judgeAll(run);
    return finish(run, prior.notes);
  } finally {
    log.close();
  }
}

/** Writes what is derived and says how it went. */
function finish(run: JudgeRun, notes: string[]): JudgeOutcome {
  const { cells, judge, reports } = run;
  const { bundle_dir } = run.view;
  const { config, clock, runner } = run.caller;
  const all = ordered(run);
  const scored = all.filter((verdict) => verdict.score !== null).length;
  const reason = reasonOf(run);
  const unfinished = run.breaker !== null || isStopped(run);
  if (!unfinished) {
    writeLines(bundlePaths(bundle_dir).reports, reports);
    writeScores(run.view, all, reports);
  }
  const url = runner.settings.url;
  writeJudgeSection(bundle_dir, {
    model: judge.model,
    endpoint: url !== null && URL.canParse(url) ? new URL(url).host : null,
    temperature: config.temperature,
    seed: config.seed,
    identity: judge,
    prompt_version: PROMPT_VERSION,
    date: isoTime(clock.now_ms()),
    complete: reason === null,
    reason,
    verdicts: all.length,
    scored,
    unscored: all.length - scored,
    files: judgeFileHashes(bundle_dir),
  });
  writeResult(bundle_dir);
  writeScorecard(bundle_dir);
  const exit_code = run.breaker !== null ? 69 : reason === null ? 0 : 1;
  run.log.emit({ type: "judge_done", total: cells.length, scored, exit_code });
  const reports_scored = reports.filter((report) => report.error === null).length;
  return {
    exit_code,
    judge,
    total: cells.length,
    scored,
    unscored: all.length - scored,
    failed: run.failed,
    reports_scored,
    reports_unscored: reports.length - reports_scored,
    breaker: run.breaker,
    reason,
    notes,
  };
}

function reasonOf(run: JudgeRun): string | null {
  if (run.breaker !== null) return run.breaker;
  if (isStopped(run)) return "stopped before the end";
  const reasons: string[] = [];
  if (run.failed > 0) reasons.push(`${run.failed} answers have no verdict: their calls failed`);
  if (run.reports_failed > 0)
    reasons.push(`${run.reports_failed} reports could not be made: the judge gave none`);
  const decided = ordered(run).filter((verdict) => verdict.score !== null && verdict.raw !== "");
  if (run.too_long > 0 && decided.length === 0) {
    reasons.push(`none of ${run.too_long} answers fits into the judge's context`);
  }
  const unreadable = ordered(run).filter((verdict) => verdict.judge_error).length - run.too_long;
  if (unreadable > 0 && decided.length === 0) {
    reasons.push(`none of ${unreadable} replies of the judge could be read`);
  }
  return reasons.length === 0 ? null : reasons.join("; ");
}

function unreachable(total: number, fault: Fault): JudgeOutcome {
  return {
    exit_code: 69,
    judge: null,
    total,
    scored: 0,
    unscored: 0,
    failed: 0,
    reports_scored: 0,
    reports_unscored: 0,
    breaker: null,
    reason: `the judge cannot be asked (${fault.class}): ${fault.message}`,
    notes: [],
  };
}
