import { existsSync, rmSync } from "node:fs";
import { JsonLinesWriter } from "../core/files.ts";
import type { Fault } from "../runners/index.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { judgeWhole } from "./holistic.ts";
import { writeJudgeSection, type BundleView } from "./judge-bundle.ts";
import type { JudgeCaller } from "./judge-call.ts";
import { callProgress, type JudgeEventLog } from "./judge-events.ts";
import type { MarkSource } from "./judge-prompt.ts";
import { writeLines } from "./judge-store.ts";
import { judgeCell, skipVerdict, type JudgedCell } from "./judge-verdict.ts";
import { cellKeyText } from "./matrix.ts";
import { qualityOf } from "./quality.ts";
import type { CellKey, JudgeIdentity, ModelReport, Verdict } from "./records.ts";

export interface JudgeProgress {
  stage: "load" | "verdict" | "holistic";
  done: number;
  total: number;
  /** What was just decided or is being asked, for people. */
  text: string;
}

/** One run of the judge over one bundle, as far as it is. */
export interface JudgeRun {
  view: BundleView;
  caller: JudgeCaller;
  judge: JudgeIdentity;
  new_mark: MarkSource;
  onProgress: (progress: JudgeProgress) => void;
  log: JudgeEventLog;
  cells: readonly JudgedCell[];
  /** By `cellKeyText`. */
  verdicts: Map<string, Verdict>;
  reports: ModelReport[];
  /** Calls that failed, in all and in a row until now. */
  failed: number;
  consecutive: number;
  /** Why no further call is made; null while calls are made. */
  breaker: string | null;
  /** Reports that are not there because a call failed. */
  reports_failed: number;
  /** Answers that did not fit into the judge's context. */
  too_long: number;
}

export function isStopped(run: JudgeRun): boolean {
  return run.caller.signal?.aborted === true;
}

function groupKey(row: { model: string; variant: string }): string {
  return JSON.stringify([row.model, row.variant]);
}

/** Groups in the order in which they first appear. */
function groupsOf(cells: readonly JudgedCell[]): { model: string; variant: string }[] {
  const groups = new Map(
    cells.map(({ response: { model, variant } }) => {
      const group = { model, variant };
      return [groupKey(group), group];
    }),
  );
  return [...groups.values()];
}

/** A report stands as long as no verdict under it is still to come. */
export function keepReports(run: JudgeRun, reports: readonly ModelReport[]): ModelReport[] {
  const open = new Set(
    run.cells
      .filter(({ response }) => !run.verdicts.has(cellKeyText(response)))
      .map(({ response }) => groupKey(response)),
  );
  return reports.filter((report) => report.error === null && !open.has(groupKey(report)));
}

/** Both phases: a verdict on each answer, then a report on each variant. */
export async function judgeAll(run: JudgeRun): Promise<void> {
  const { view, cells, verdicts, judge, log } = run;
  const paths = bundlePaths(view.bundle_dir);
  // From here until the end nothing may look judged that is not.
  rmSync(paths.scores, { force: true });
  writeJudgeSection(view.bundle_dir, null);
  if (existsSync(paths.reports)) writeLines(paths.reports, run.reports);
  writeLines(paths.judgements, ordered(run));
  const done = verdicts.size;
  log.emit({
    type: "judge_start",
    total: cells.length,
    done,
    judge: judge.model,
    hash: judge.hash,
  });
  for (const [i, cell] of cells.entries()) {
    const verdict = verdicts.get(cellKeyText(cell.response));
    if (verdict !== undefined) tell(run, i, verdict);
  }
  const writer = new JsonLinesWriter(paths.judgements);
  try {
    for (const [i, cell] of cells.entries()) {
      if (run.breaker !== null || isStopped(run)) break;
      if (!verdicts.has(cellKeyText(cell.response))) await judgeOne(run, i, cell, writer);
    }
    writer.sync();
  } finally {
    writer.close();
  }
  writeLines(paths.judgements, ordered(run));
  if (run.breaker === null && !isStopped(run)) await holisticPhase(run);
}

/** All verdicts, in the matrix' order. */
export function ordered(run: JudgeRun): Verdict[] {
  return run.cells.flatMap(({ response }) => run.verdicts.get(cellKeyText(response)) ?? []);
}

async function judgeOne(
  run: JudgeRun,
  i: number,
  cell: JudgedCell,
  writer: JsonLinesWriter,
): Promise<void> {
  const { judge, log, new_mark } = run;
  const { model, variant, prompt_id, repeat } = cell.response;
  const key = { model, variant, prompt_id, repeat };
  let verdict = skipVerdict(cell, judge);
  if (verdict === null) {
    const decision = await judgeCell(run.caller, cell, {
      pack: run.view.pack,
      judge,
      new_mark,
      onProgress: callProgress(log, run.caller.clock, { stage: "verdict", ...key }),
    });
    if (decision.kind === "failed") return noteFailure(run, i, key, decision.fault);
    run.consecutive = 0;
    if (decision.too_long) run.too_long += 1;
    verdict = decision.verdict;
  }
  writer.append(verdict);
  run.verdicts.set(cellKeyText(cell.response), verdict);
  tell(run, i, verdict);
}

function noteFailure(run: JudgeRun, i: number, key: CellKey, fault: Fault): void {
  // Stopped from outside: nothing failed.
  if (fault.class === "cancelled") return;
  run.failed += 1;
  run.consecutive += 1;
  run.log.emit({ type: "call_failed", i, ...key, fault: fault.class, message: fault.message });
  const limit = run.caller.config.max_consecutive_failures;
  if (limit === 0 || run.consecutive < limit) return;
  run.breaker = `${run.consecutive} calls in a row failed, the last one ${fault.class}: ${fault.message}`;
  run.log.emit({
    type: "breaker",
    consecutive_failures: run.consecutive,
    reason: run.breaker,
  });
}

function tell(run: JudgeRun, i: number, verdict: Verdict): void {
  const { model, variant, prompt_id, repeat, category, score, red_flag, unscored } = verdict;
  const rationale = verdict.rationale.slice(0, 160);
  const key = { model, variant, prompt_id, repeat, category };
  run.log.emit({ type: "verdict", i, ...key, score, red_flag, unscored, rationale });
  run.onProgress({
    stage: "verdict",
    done: run.verdicts.size,
    total: run.cells.length,
    text: `${variant} ${prompt_id}: ${score ?? "unscored"}`,
  });
}

async function holisticPhase(run: JudgeRun): Promise<void> {
  const groups = groupsOf(run.cells);
  for (const [i, group] of groups.entries()) {
    if (isStopped(run)) return;
    const isOfGroup = (row: { model: string; variant: string }): boolean =>
      groupKey(row) === groupKey(group);
    const verdicts = ordered(run).filter(isOfGroup);
    run.onProgress({ stage: "holistic", done: i, total: groups.length, text: group.variant });
    const kept = run.reports.find(isOfGroup);
    tellMaster(run, kept ?? (await reportOn(run, group, verdicts)), verdicts);
  }
}

async function reportOn(
  run: JudgeRun,
  group: { model: string; variant: string },
  verdicts: readonly Verdict[],
): Promise<ModelReport> {
  const { log, judge, view, caller, new_mark } = run;
  const evidence = verdicts.filter((verdict) => verdict.score !== null).length;
  log.emit({ type: "holistic_start", ...group, evidence });
  const call = { stage: "holistic", ...group, prompt_id: null, repeat: null } as const;
  const { report, curable } = await judgeWhole(caller, {
    pack: view.pack,
    judge,
    ...group,
    verdicts,
    responses: view.responses,
    new_mark,
    onProgress: callProgress(log, caller.clock, call),
  });
  if (curable) run.reports_failed += 1;
  run.reports.push(report);
  writeLines(bundlePaths(view.bundle_dir).reports, run.reports);
  log.emit({ type: "holistic_done", ...group, error: report.error });
  return report;
}

function tellMaster(run: JudgeRun, report: ModelReport, verdicts: readonly Verdict[]): void {
  const { pct, safety, rubric_level } = qualityOf(run.view.pack, verdicts, report);
  run.log.emit({
    type: "master",
    model: report.model,
    variant: report.variant,
    pct,
    safety_passed: safety.status === "no_rule" ? null : safety.status === "passed",
    safety_reason: safety.reason,
    recommendation: rubric_level,
  });
}
