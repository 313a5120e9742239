import {
  readBundle,
  readJudgeSection,
  type BundleView,
  type JudgeSection,
} from "./judge-bundle.ts";
import { readReports, readVerdicts } from "./judge-store.ts";
import { qualityOf, type Quality } from "./quality.ts";
import type { CheckResult, EvalResponse, JudgeIdentity, ModelReport, Verdict } from "./records.ts";
import { summarise, type VariantSummary } from "./summary.ts";

/** Everything that is known about one model under one variant. */
export interface GroupView {
  model: string;
  variant: string;
  perf: VariantSummary;
  rows: EvalResponse[];
  verdicts: Verdict[];
  report: ModelReport | null;
  /** null where the bundle was not judged. */
  quality: Quality | null;
}

/** A bundle as its reports show it, judged or not. */
export interface JudgedView extends BundleView {
  groups: GroupView[];
  section: JudgeSection | null;
  /** Who wrote the verdicts; null where there are none. */
  judge: JudgeIdentity | null;
}

export function groupViews(
  view: BundleView,
  verdicts: readonly Verdict[],
  reports: readonly ModelReport[],
): GroupView[] {
  return summarise(view.responses).map((perf) => {
    const { model, variant } = perf;
    const isHere = (row: { model: string; variant: string }): boolean =>
      row.model === model && row.variant === variant;
    const own = verdicts.filter(isHere);
    const report = reports.find(isHere) ?? null;
    return {
      model,
      variant,
      perf,
      rows: view.responses.filter(isHere),
      verdicts: own,
      report,
      quality: own.length === 0 ? null : qualityOf(view.pack, own, report),
    };
  });
}

/** Reads a bundle with whatever a judge left in it. Throws an input error as `readBundle` does. */
export function readJudged(bundle_dir: string): JudgedView {
  const view = readBundle(bundle_dir);
  const verdicts = readVerdicts(bundle_dir);
  const reports = readReports(bundle_dir);
  return {
    ...view,
    groups: groupViews(view, verdicts, reports),
    section: readJudgeSection(bundle_dir),
    judge: verdicts[0]?.judge ?? null,
  };
}

export interface CheckCounts {
  passed: number;
  failed: number;
  undecided: number;
}

export function countChecks(rows: readonly EvalResponse[]): CheckCounts {
  const all: CheckResult[] = rows.flatMap((row) => row.checks);
  return {
    passed: all.filter((check) => check.passed === true).length,
    failed: all.filter((check) => check.passed === false).length,
    undecided: all.filter((check) => check.passed === null).length,
  };
}
