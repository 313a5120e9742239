import { stringify } from "csv-stringify/sync";
import { writeFileAtomic } from "../core/files.ts";
import { bundlePaths } from "./bundle-paths.ts";
import type { BundleView } from "./judge-bundle.ts";
import { groupViews, type GroupView } from "./judged-view.ts";
import type { ModelReport, Verdict } from "./records.ts";

/** touchstone's columns in touchstone's order; what is ours stands behind them. */
export const SCORE_COLUMNS = [
  "chip",
  "ram_gb",
  "pack",
  "pack_version",
  "model",
  "quant",
  "variant",
  "ttft_p50",
  "decode_med",
  "e2e_med",
  "peak_ram_gb",
  "model_delta_gb",
  "power",
  "metric_type",
  "metric",
  "weight",
  "score",
  "safety",
  "red_flags",
  "scored",
  "unscored",
  "judge_model",
  "judge_hash",
] as const;

type ScoreRow = Record<(typeof SCORE_COLUMNS)[number], string | number>;

/** Two decimals; nothing where it is not known. */
function figure(value: number | null): string | number {
  return value === null ? "" : Math.round(value * 100) / 100;
}

function gigabytes(megabytes: number | null): string | number {
  return figure(megabytes === null ? null : megabytes / 1000);
}

function groupRows(view: BundleView, group: GroupView): ScoreRow[] {
  const { perf, quality, report } = group;
  const { host, pack } = view.manifest;
  const judge = report?.judge ?? group.verdicts[0]?.judge;
  const base = {
    chip: host.chip ?? "",
    ram_gb: figure(host.ram_gb),
    pack: pack.id,
    pack_version: pack.version,
    model: group.model,
    quant: perf.quant,
    variant: group.variant,
    ttft_p50: figure(perf.ttft_p50_s),
    decode_med: figure(perf.decode_med_tps),
    e2e_med: figure(perf.e2e_med_s),
    peak_ram_gb: gigabytes(perf.sys_used_peak_mb),
    model_delta_gb: gigabytes(perf.sys_used_delta_mb),
    power: perf.battery === null ? "" : perf.battery ? "battery" : "ac",
    safety: quality?.safety.status ?? "",
    red_flags: quality === null ? "" : quality.red_flags.join(" "),
    scored: quality?.scored ?? "",
    unscored: quality?.unscored ?? "",
    judge_model: judge?.model ?? "",
    judge_hash: judge?.hash ?? "",
  };
  const dimensions = view.pack.dimensions.filter(({ id }) =>
    Object.hasOwn(quality?.dim_scores ?? {}, id),
  );
  if (dimensions.length === 0) {
    return [{ ...base, metric_type: "none", metric: "", weight: "", score: "" }];
  }
  return dimensions.map(({ id, weight }) => {
    const score = figure(quality?.dim_scores[id] ?? null);
    return Object.assign({}, base, { metric_type: "dimension", metric: id, weight, score });
  });
}

/** Writes `scores.csv`: a row for each dimension with a score, or one without where there is none. */
export function writeScores(
  view: BundleView,
  verdicts: readonly Verdict[],
  reports: readonly ModelReport[],
): void {
  const rows = groupViews(view, verdicts, reports).flatMap((group) => groupRows(view, group));
  const csv = stringify(rows, { header: true, columns: [...SCORE_COLUMNS] });
  writeFileAtomic(bundlePaths(view.bundle_dir).scores, csv);
}
