import { markdownCell, table } from "../core/markdown.ts";
import type { CheckReport, CheckRow } from "./check.ts";

function figure(value: number | null, digits: number): string {
  return value === null ? "" : value.toFixed(digits);
}

function evicted(row: CheckRow): string {
  if (row.evicted === null) return row.eviction_reason === null ? "" : "not applicable";
  return row.evicted ? "yes" : "NO";
}

/** `check.md`: the verdict first, a row for each model, then what to see to. */
export function checkMarkdown(report: CheckReport): string {
  const bad = report.rows.filter((row) => !row.ok);
  const verdict =
    bad.length === 0
      ? report.rows.length === 1
        ? "The one model can be measured."
        : `All ${report.rows.length} models can be measured.`
      : `${bad.length} of ${report.rows.length} models cannot be measured.`;
  const header = ["model", "role", "runner", "ok", "loaded", "status", "load s", "first token s"];
  header.push("RAM before MB", "after MB", "delta MB", "reset evicts");
  const rows = report.rows.map((row) => [
    row.quant === "" ? row.model : `${row.model} (${row.quant})`,
    row.role,
    row.runner,
    row.ok ? "yes" : "NO",
    row.loaded ? "yes" : "no",
    row.status,
    figure(row.load_s, 1),
    figure(row.first_token_s, 2),
    figure(row.ram_before_mb, 0),
    figure(row.ram_after_mb, 0),
    figure(row.ram_delta_mb, 0),
    evicted(row),
  ]);
  const notes = report.rows.flatMap((row) => [
    ...(row.error === null ? [] : [`- **${markdownCell(row.model)}**: ${markdownCell(row.error)}`]),
    ...row.warnings.map((text) => `- ${markdownCell(row.model)}: ${markdownCell(text)}`),
  ]);
  const warnings = report.warnings.map((text) => `- ${markdownCell(text)}`);
  return [
    "# Queue check",
    "",
    `**${verdict}**`,
    "",
    `${markdownCell(report.file)}, ${report.started} to ${report.ended}`,
    "",
    table(header, rows),
    "",
    ...(notes.length + warnings.length === 0
      ? []
      : ["## To see to", "", ...notes, ...warnings, ""]),
  ].join("\n");
}
