import { writeFileAtomic } from "../core/files.ts";
import { markdownCell, table } from "../core/markdown.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { judgesItself } from "./judge-identity.ts";
import { countChecks, readJudged, type GroupView, type JudgedView } from "./judged-view.ts";
import { readLoad } from "./load-record.ts";
import { lengthNotes, type Quality } from "./quality.ts";

/** A figure for people: `digits` after the point, a dash where it is not known. */
function figure(value: number | null | undefined, digits: number, unit = ""): string {
  return value === null || value === undefined ? "-" : `${value.toFixed(digits)}${unit}`;
}

function gigabytes(megabytes: number | null): string {
  return figure(megabytes === null ? null : megabytes / 1000, 1, " GB");
}

/** `4 ok, 1 failed` without what is zero; a dash where all are. */
function counts(parts: readonly (readonly [number, string])[]): string {
  const present = parts.filter(([count]) => count > 0);
  return present.map(([count, what]) => `${count} ${what}`).join(", ") || "-";
}

function safetyWord(quality: Quality | null): string {
  if (quality === null) return "-";
  const { status } = quality.safety;
  if (status === "no_rule") return "no rule";
  return status === "not_shown" ? "NOT SHOWN" : status === "failed" ? "FAILED" : "passed";
}

function checksWord(group: GroupView): string {
  const { passed, failed, undecided } = countChecks(group.rows);
  return counts([
    [passed, "passed"],
    [failed, "failed"],
    [undecided, "undecided"],
  ]);
}

function summarySection(view: JudgedView): string {
  const rows = view.groups.map((group) => {
    const { perf, quality } = group;
    return [
      group.variant,
      quality === null ? "-" : figure(quality.pct, 1, " %"),
      quality?.rubric_level ?? "-",
      safetyWord(quality),
      checksWord(group),
      quality === null ? "-" : `${quality.scored} of ${quality.scored + quality.unscored}`,
      counts([
        [perf.ok, "ok"],
        [perf.failed, "failed"],
        [perf.reasoning_only, "thought only"],
        [perf.content_empty - perf.reasoning_only, "empty"],
      ]),
      figure(perf.ttft_p50_s, 2, " s"),
      figure(perf.decode_med_tps, 1, " tok/s"),
    ];
  });
  const header = ["Variant", "Quality", "Level", "Safety", "Checks", "Scored", "Answers"];
  return table([...header, "TTFT P50", "Decode"], rows);
}

function speedSection(view: JudgedView): string {
  const load = readLoad(view.bundle_dir);
  const rows = view.groups.map(({ variant, perf }) => [
    variant,
    perf.n,
    counts([
      [perf.excluded.cold, "cold"],
      [perf.excluded.throttled, "throttled"],
      [perf.excluded.battery, "on battery"],
      [perf.excluded.failed, "failed"],
    ]),
    `${figure(perf.ttft_p50_s, 2)} / ${figure(perf.ttft_p95_s, 2)} s`,
    figure(perf.cold_ttft_s, 2, " s"),
    figure(perf.decode_med_tps, 1, " tok/s"),
    figure(perf.e2e_med_s, 2, " s"),
    figure(perf.answer_tokens_med, 0),
    gigabytes(perf.sys_used_peak_mb),
    gigabytes(perf.sys_used_delta_mb),
  ]);
  const header = ["Variant", "n", "Left out", "TTFT P50 / P95", "Cold TTFT", "Decode median"];
  const more = ["Whole answer median", "Answer tokens median", "Memory peak", "Over baseline"];
  const text = table([...header, ...more], rows);
  if (load === null) return text;
  const weights =
    load.weights_delta_mb === null
      ? `memory for the weights not known (${markdownCell(load.weights_delta_reason ?? "no reason")})`
      : `${gigabytes(load.weights_delta_mb)} for the weights`;
  return `${text}\n\nLoad: ${load.outcome.replace("_", " ")}, ${figure(load.duration_s, 1, " s")}, ${weights}.`;
}

function scoreCell(group: GroupView, id: string): string {
  const scores = group.quality?.dim_scores ?? {};
  return Object.hasOwn(scores, id) ? String(scores[id]) : "-";
}

function dimensionSection(view: JudgedView): string {
  const judged = view.groups.filter((group) => group.quality !== null);
  const rule = view.pack.ko_rule?.dimension;
  const rows = view.pack.dimensions.map(({ id, name, weight }) => [
    `${id} ${name}${id === rule ? " (knock-out)" : ""}`,
    weight,
    ...judged.map((group) => scoreCell(group, id)),
  ]);
  const last = ["Weighted, of 100 %", "", ...judged.map((g) => figure(g.quality?.pct, 1, " %"))];
  const lines = [table(["Dimension", "Weight", ...judged.map((g) => g.variant)], [...rows, last])];
  for (const { variant, quality } of judged) {
    const name = markdownCell(variant);
    if (quality?.report_error != null) {
      lines.push(`- ${name}: no scores of dimensions: ${markdownCell(quality.report_error)}.`);
    } else if (quality !== null && quality.missing_dimensions.length > 0) {
      const missing = quality.missing_dimensions.map(markdownCell).join(", ");
      lines.push(`- ${name}: the judge left out ${missing}; in the sum they count 0.`);
    }
  }
  return lines.join("\n\n");
}

function safetySection(view: JudgedView): string {
  const lines = view.groups.flatMap(({ variant, quality }) => {
    if (quality === null) return [];
    const flags = quality.red_flags.map(markdownCell).join(", ") || "none";
    return [
      `- ${markdownCell(variant)}: **${safetyWord(quality)}** (${markdownCell(quality.safety.reason)}). Red flags: ${flags}.`,
    ];
  });
  return lines.join("\n");
}

function categorySection(view: JudgedView): string {
  const judged = view.groups.filter((group) => group.quality !== null);
  const rows = view.pack.categories.map(({ id, name }) => [
    `${id} ${name}`,
    ...judged.map((group) => figure(group.quality?.category_means[id], 2)),
  ]);
  return table(["Category", ...judged.map((group) => group.variant)], rows);
}

function verdictSection(view: JudgedView): string {
  const rows = view.groups.flatMap((group) =>
    group.verdicts.map((verdict) => [
      verdict.prompt_id + (verdict.repeat > 0 ? ` (${verdict.repeat + 1})` : ""),
      group.variant,
      verdict.score ?? "-",
      verdict.red_flag && verdict.score !== null ? "RED" : "",
      verdict.rationale.slice(0, 160),
    ]),
  );
  return table(["Prompt", "Variant", "Score", "Flag", "Rationale"], rows);
}

function failedChecks(view: JudgedView): string {
  const rows = view.groups.flatMap((group) =>
    group.rows.flatMap((row) =>
      row.checks
        .filter((check) => check.passed !== true)
        .map((check) => [
          row.prompt_id,
          group.variant,
          check.kind,
          check.passed === null ? "undecided" : "failed",
          check.reason ?? "",
        ]),
    ),
  );
  return rows.length === 0 ? "" : table(["Prompt", "Variant", "Check", "Outcome", "Why"], rows);
}

/** Above this share of cached prompt tokens the reader is told: a shared system prompt stays below. */
const CACHED_SHARE_TOLD = 0.25;

function notes(view: JudgedView): string[] {
  const { judge, section, groups, manifest } = view;
  const lines: string[] = [];
  if (judge !== null && judgesItself(judge.model, manifest.model.id)) {
    lines.push("The judge is the model it judges: models prefer their own answers.");
  }
  if (judge !== null && section?.complete !== true) {
    lines.push(`The judging is not complete: ${section?.reason ?? "it did not come to its end"}.`);
  }
  for (const { variant, perf, quality } of groups) {
    if (perf.throttled === true)
      lines.push(`${variant}: the machine throttled during some answers.`);
    if (perf.throttled === null)
      lines.push(`${variant}: whether the machine throttled is not known.`);
    if (perf.cached_share !== null && perf.cached_share > CACHED_SHARE_TOLD) {
      lines.push(
        `${variant}: ${Math.round(perf.cached_share * 100)} % of the prompt tokens came out of the runner's cache, so the times to the first token say little about prefill; the config's cold_cache: true avoids that.`,
      );
    }
    if (perf.battery === true) lines.push(`${variant}: some answers were made on battery.`);
    if (perf.reasoning_only > 0) {
      lines.push(
        `${variant}: ${perf.reasoning_only} of ${perf.total} answers are thoughts only; give the model more tokens (reasoning_headroom_tokens).`,
      );
    }
    if (quality !== null && quality.unscored > 0) {
      lines.push(`${variant}: ${quality.unscored} answers have no score and count for nothing.`);
    }
  }
  const lengths = groups.map(({ model, variant, rows, quality }) => {
    return { model, variant, rows, pct: quality?.pct ?? null };
  });
  return [...lines, ...lengthNotes(lengths)].map(markdownCell);
}

function known(parts: readonly (string | null)[]): string {
  return markdownCell(parts.filter((part) => part !== null).join(", ")) || "not known";
}

function head(view: JudgedView): string {
  const { manifest, judge } = view;
  const { host, runner, pack } = manifest;
  const ram = host.ram_gb === null ? null : `${figure(host.ram_gb, 0)} GB`;
  const judged =
    judge === null
      ? "none; `touchstoned judge --bundle DIR --judge-config FILE` adds one"
      : `${markdownCell(judge.model)} on ${known([judge.runner, judge.runner_version])}, temperature ${judge.temperature}, hash ${markdownCell(judge.hash.slice(0, 8))}`;
  const quant = manifest.served?.quantization ?? (manifest.model.quant || null);
  return [
    `# ${markdownCell(pack.title)}: ${markdownCell(manifest.model.id)}`,
    "",
    `- Model: ${known([manifest.model.id, quant])}`,
    `- Pack: ${known([pack.id, `version ${pack.version}`, pack.sha256.slice(0, 8)])}`,
    `- Device: ${known([host.chip, ram, host.os])}`,
    `- Runner: ${known([runner.kind, runner.version])}; sampling temperature ${manifest.sampling.temperature}, seed ${manifest.sampling.seed}`,
    `- Judge: ${judged}`,
    `- Begun: ${markdownCell(manifest.created)}`,
  ].join("\n");
}

/**
 * Writes `scorecard.md` from what lies in the bundle, judged or not: first what decides, then what
 * it rests on. Throws an input error where manifest or pack are missing or damaged.
 */
export function writeScorecard(bundle_dir: string): void {
  const view = readJudged(bundle_dir);
  const remarks = notes(view);
  const parts: (readonly [title: string, text: string])[] = [
    ["In short", summarySection(view)],
    ["Mind", remarks.map((line) => `- ${line}`).join("\n")],
  ];
  if (view.judge !== null) {
    parts.push(["Safety", safetySection(view)], ["Dimensions", dimensionSection(view)]);
    parts.push(["Mean score by category", categorySection(view)]);
  }
  parts.push(["Speed and memory", speedSection(view)]);
  parts.push(["Checks that did not pass", failedChecks(view)]);
  if (view.judge !== null) parts.push(["Verdicts", verdictSection(view)]);
  const body = parts
    .filter(([, text]) => text !== "")
    .map(([title, text]) => `## ${title}\n\n${text}`);
  writeFileAtomic(bundlePaths(bundle_dir).scorecard, `${[head(view), ...body].join("\n\n")}\n`);
}
