import { markdownCell, table } from "../core/markdown.ts";
import type { EntrySummary, Summary } from "./summary.ts";

/** `1 h 02 min`, `3 min 05 s`, `12.3 s`; empty where nothing ran. */
function seconds(value: number | null): string {
  if (value === null) return "";
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) return `${minutes} min ${String(rest).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

function figure(value: number | null, digits: number): string {
  return value === null ? "" : value.toFixed(digits);
}

function time(iso: string | null): string {
  return iso === null ? "" : `${iso.slice(0, 16).replace("T", " ")} UTC`;
}

function modelName(entry: EntrySummary): string {
  return entry.quant === "" ? entry.model_id : `${entry.model_id} (${entry.quant})`;
}

function count(entries: readonly EntrySummary[], status: EntrySummary["status"]): number {
  return entries.filter((entry) => entry.status === status).length;
}

/** The first sentence: what a person wants to know before anything else. */
export function headline(summary: Summary): string {
  const { entries, state } = summary;
  const bad = (["failed", "timeout", "stalled", "skipped", "interrupted"] as const)
    .map((status) => [status, count(entries, status)] as const)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} ${status}`);
  const open = entries.filter((entry) => ["pending", "running"].includes(entry.status)).length;
  const parts = [`${summary.ok} of ${summary.total} ok`, ...bad];
  if (open > 0) parts.push(`${open} not finished`);
  const counts = parts.join(", ");
  if (state === "running" || state === "waiting") {
    const active = entries.find((entry) => entry.status === "running");
    const doing =
      active === undefined
        ? (summary.reason ?? "between two entries")
        : `entry ${active.index} (${active.model_id}): ${active.step ?? "starting"} since ${time(active.since)}`;
    return `Not finished: ${counts}. Now: ${doing}.`;
  }
  const why = summary.reason === null ? "" : ` (${summary.reason})`;
  if (state === "interrupted") return `Interrupted${why}: ${counts}.`;
  if (state === "stopped") return `Stopped early${why}: ${counts}.`;
  return `${summary.ok === summary.total ? "All is well" : "Finished"}: ${counts}.`;
}

/** False where no step was ever begun: there is nothing in its directory, or no directory. */
function hasBundle({ load_status, eval_status, judge_status }: EntrySummary): boolean {
  return [load_status, eval_status, judge_status].some(
    (status) => status !== "pending" && status !== "skipped",
  );
}

function overview(summary: Summary): string {
  const header = ["#", "model", "pack", "runner", "status", "load", "eval", "judge", "bundle"];
  const rows = summary.entries.map((entry) => [
    entry.index,
    modelName(entry),
    entry.pack,
    entry.runner,
    entry.status === "running" ? `running: ${entry.step ?? ""}` : entry.status,
    [entry.load_status, seconds(entry.load_seconds)].join(" ").trim(),
    [entry.eval_status, seconds(entry.eval_seconds)].join(" ").trim(),
    [entry.judge_status, seconds(entry.judge_seconds)].join(" ").trim(),
    hasBundle(entry) ? entry.bundle_dir : "",
  ]);
  return table(header, rows);
}

function trouble(summary: Summary): string[] {
  const lines: string[] = [];
  for (const entry of summary.entries) {
    if (entry.error === null && entry.warnings.length === 0) continue;
    lines.push(`### ${entry.index}: ${markdownCell(modelName(entry))}`, "");
    if (entry.error !== null) {
      lines.push(`- **What went wrong:** ${markdownCell(entry.error)}`);
      if (entry.advice !== null) lines.push(`- **What to do:** ${markdownCell(entry.advice)}`);
      if (hasBundle(entry)) lines.push(`- **Logs:** ${markdownCell(entry.bundle_dir)}/*.log`);
    }
    for (const warning of entry.warnings) lines.push(`- Warning: ${markdownCell(warning)}`);
    lines.push("");
  }
  return lines.length === 0 ? [] : ["## Errors and warnings", "", ...lines];
}

function results(summary: Summary): string[] {
  const good = summary.entries.filter((entry) => entry.eval_status === "ok" && entry.result);
  if (good.length === 0) return [];
  const header = ["#", "model", "answers", "failed", "TTFT s", "decode tok/s", "total s"];
  header.push("load s", "weights MB");
  const rows = good.map((entry) => [
    entry.index,
    modelName(entry),
    entry.result?.cells_ok,
    entry.result?.cells_failed,
    figure(entry.result?.ttft_s ?? null, 3),
    figure(entry.result?.decode_tps ?? null, 1),
    figure(entry.result?.e2e_s ?? null, 2),
    figure(entry.result?.load_s ?? null, 1),
    figure(entry.result?.weights_delta_mb ?? null, 0),
  ]);
  return [
    "## Medians of the good ones",
    "",
    table(header, rows),
    "",
    "An empty cell was not measured. Scores are in each bundle's `scorecard.md`.",
    "",
  ];
}

/** `summary.md`: what happened first, then the table, what went wrong and what to do, the medians. */
export function summaryMarkdown(summary: Summary, directory: string): string {
  const times = [`Started ${time(summary.started)}`];
  if (summary.resumed.length > 0) {
    times.push(`resumed ${summary.resumed.map((at) => time(at)).join(", ")}`);
  }
  times.push(
    summary.ended === null
      ? `last written ${time(summary.updated)}`
      : `ended ${time(summary.ended)}`,
  );
  const lines = [
    `# Queue run ${summary.id}`,
    "",
    `**${markdownCell(headline(summary))}**`,
    "",
    `${times.join(", ")}.`,
    "",
    overview(summary),
    "",
    ...trouble(summary),
    ...(summary.warnings.length === 0
      ? []
      : ["## About the run", "", ...summary.warnings.map((text) => `- ${markdownCell(text)}`), ""]),
    ...results(summary),
    "## Where everything is",
    "",
    `- This run: ${markdownCell(directory)}`,
    `- Source: ${markdownCell(summary.source.path)} (SHA-256 ${summary.source.sha256})`,
    "- Each bundle: the directory in the last column, inside this one. Diary: `run.log`.",
  ];
  if (summary.resume_command !== null) {
    lines.push("", "To go on where it stopped:", "", "```sh", summary.resume_command, "```");
  }
  return `${lines.join("\n")}\n`;
}
