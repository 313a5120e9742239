import { writeFileAtomic } from "../core/files.ts";
import { prettyJson } from "../core/json.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { judgesItself } from "./judge-identity.ts";
import { countChecks, readJudged, type GroupView, type JudgedView } from "./judged-view.ts";
import { readLoad } from "./load-record.ts";

function gigabytes(megabytes: number | null): number | null {
  return megabytes === null ? null : Math.round(megabytes) / 1000;
}

function qualityPart(group: GroupView) {
  const { quality } = group;
  if (quality === null) return null;
  const { safety } = quality;
  return {
    dim_scores: quality.dim_scores,
    pct: quality.pct,
    rubric_level: quality.rubric_level,
    // Not shown is not passed.
    safety_passed: safety.status === "no_rule" ? null : safety.status === "passed",
    safety_status: safety.status,
    safety_reason: safety.reason,
    red_flags: quality.red_flags,
    missing_dimensions: quality.missing_dimensions,
    report_error: quality.report_error,
    mean_score: quality.mean_score,
    category_means: quality.category_means,
    scored: quality.scored,
    unscored: quality.unscored,
  };
}

function cellPart(view: JudgedView, group: GroupView, weights_delta_mb: number | null) {
  const { perf } = group;
  return {
    model: group.model,
    variant: group.variant,
    // What the runner says about its file is worth more than a label in a config.
    quant: view.manifest.served?.quantization ?? perf.quant,
    answer_tokens_med: perf.answer_tokens_med,
    perf: {
      n: perf.n,
      ttft_p50: perf.ttft_p50_s,
      ttft_p95: perf.ttft_p95_s,
      decode_med: perf.decode_med_tps,
      e2e_med: perf.e2e_med_s,
      total_throughput: perf.total_throughput_tps,
      model_delta_gb: gigabytes(perf.sys_used_delta_mb),
      weights_delta_gb: gigabytes(weights_delta_mb),
      peak_ram_gb: gigabytes(perf.sys_used_peak_mb),
      excluded: perf.excluded,
      battery: perf.battery,
      throttled: perf.throttled,
    },
    answers: {
      total: perf.total,
      ok: perf.ok,
      failed: perf.failed,
      empty: perf.content_empty,
      reasoning_only: perf.reasoning_only,
    },
    checks: countChecks(group.rows),
    quality: qualityPart(group),
  };
}

/**
 * Writes `result.json` (schema_version 1) from what lies in the bundle, judged or not. What is not
 * known is null. Throws an input error where manifest or pack are missing or damaged.
 */
export function writeResult(bundle_dir: string): void {
  const view = readJudged(bundle_dir);
  const { manifest, judge, section } = view;
  const weights_delta_mb = readLoad(bundle_dir)?.weights_delta_mb ?? null;
  const result = {
    schema_version: 1,
    provenance: {
      chip: manifest.host.chip,
      ram_gb: manifest.host.ram_gb,
      os: manifest.host.os,
      engine: manifest.runner.kind,
      engine_version: manifest.runner.version,
      runtime: null,
      seed: manifest.sampling.seed,
      temperature: manifest.sampling.temperature,
      pack_id: manifest.pack.id,
      pack_version: manifest.pack.version,
      pack_sha256: manifest.pack.sha256,
      date: manifest.created,
    },
    judge:
      judge === null
        ? null
        : {
            model: judge.model,
            version: judge.runner_version,
            temperature: judge.temperature,
            seed: section?.seed ?? null,
            runner: judge.runner,
            hash: judge.hash,
            complete: section?.complete ?? false,
            judges_itself: judgesItself(judge.model, manifest.model.id),
          },
    cells: view.groups
      .toSorted((a, b) => compare(a.model, b.model) || compare(a.variant, b.variant))
      .map((group) => cellPart(view, group, weights_delta_mb)),
  };
  writeFileAtomic(bundlePaths(bundle_dir).result, prettyJson(result));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
