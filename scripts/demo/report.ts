// Reads what a run left behind, for the demo's last page.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { headline, summarySchema, type EntrySummary, type Summary } from "../../src/queue/index.ts";
import type { DemoPlace } from "./place.ts";

export interface FoundRun {
  folder: string;
  summary: Summary;
  headline: string;
}

/** The newest run of the demo; undefined where none was begun. */
export function findRun(place: DemoPlace): FoundRun | undefined {
  const runs = join(place.folder, "runs");
  if (!existsSync(runs)) return undefined;
  const [newest] = readdirSync(runs, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("summary.json"))
    .map((path) => join(runs, path))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  if (newest === undefined) return undefined;
  const summary = summarySchema.parse(JSON.parse(readFileSync(newest, "utf8")));
  return { folder: dirname(newest), summary, headline: headline(summary) };
}

function rows(path: string): Record<string, unknown>[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as never);
}

/** What a person wants to know of one bundle, a line each. */
export function bundleLines(bundle: string, entry: EntrySummary): string[] {
  const lines: string[] = [];
  const { result, error } = entry;
  if (error !== null) lines.push(`went wrong: ${error}`);
  if (result !== null) {
    const figures = [
      `${result.cells_ok} of ${result.cells_total ?? "?"} answers`,
      result.ttft_s === null ? "" : `first token after ${(result.ttft_s * 1000).toFixed(0)} ms`,
      result.decode_tps === null ? "" : `${result.decode_tps.toFixed(0)} tokens/s`,
    ];
    lines.push(figures.filter((figure) => figure !== "").join(", "));
  }
  const [answer] = rows(join(bundle, "responses.jsonl"));
  if (typeof answer?.["response_text"] === "string") {
    const said = answer["response_text"].replaceAll(/\s+/g, " ").trim();
    lines.push(`it said: ${said.slice(0, 60)} ...`);
  }
  const verdicts = rows(join(bundle, "judgements.jsonl"));
  if (verdicts.length > 0) {
    const scored = verdicts.filter((verdict) => typeof verdict["score"] === "number");
    // The embedded runner knows no grammar, so what the made judge says there is no verdict at all.
    if (scored.length === 0) lines.push("no reply of the judge could be read: unscored, not zero");
    else
      lines.push(
        `the judge gave ${scored.length} of ${verdicts.length} answers a score` +
          ` (${scored.map((verdict) => verdict["score"]).join(", ")})`,
      );
  }
  return lines;
}
