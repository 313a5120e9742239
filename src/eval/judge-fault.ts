import { statSync } from "node:fs";
import { basename } from "node:path";
import { readTextIfThere } from "../core/files.ts";
import { sha256Hex } from "../core/json.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { judgedCells, readJudgeSection, readWholeBundle } from "./judge-bundle.ts";
import { readReports, readVerdicts } from "./judge-store.ts";
import { cellKeyText } from "./matrix.ts";
import { errorMessage } from "../core/errors.ts";

/** See `bundle.ts`: file times may lag behind the clock that gave the step's start. */
const TIME_GRAIN_MS = 1000;

/**
 * What a judge step owes and has not left, whole and newer than its start (milliseconds since the
 * epoch); null where all is there: a verdict of one judge on every answer, a report on every
 * variant, scores, and hashes that fit.
 */
export function judgeStepFault(bundle_dir: string, started_ms: number): string | null {
  try {
    return findFault(bundle_dir, started_ms);
  } catch (error) {
    return errorMessage(error);
  }
}

function findFault(bundle_dir: string, started_ms: number): string | null {
  const view = readWholeBundle(bundle_dir);
  const section = readJudgeSection(bundle_dir);
  if (section === null) return "bundle.json says nothing about a judge";
  if (!section.complete) return `the judging is not complete: ${section.reason ?? "no reason"}`;
  const paths = bundlePaths(bundle_dir);
  for (const path of [paths.judgements, paths.reports, paths.scores]) {
    const name = basename(path);
    const text = readTextIfThere(path);
    if (text === undefined) return `${name} is missing`;
    if (sha256Hex(text) !== section.files[name]) return `${name} is not what was recorded`;
    if (path === paths.judgements) continue;
    if (statSync(path).mtimeMs < started_ms - TIME_GRAIN_MS)
      return `${name} is older than the step`;
  }
  const { hash } = section.identity;
  const verdicts = readVerdicts(bundle_dir);
  if (verdicts.some((verdict) => verdict.judge.hash !== hash)) return "verdicts of several judges";
  const judged = new Set(verdicts.map((verdict) => cellKeyText(verdict)));
  const cells = judgedCells(view);
  const open = cells.filter(({ response }) => !judged.has(cellKeyText(response))).length;
  if (open > 0) return `${open} of ${cells.length} answers have no verdict of this judge`;
  const reported = new Set(
    readReports(bundle_dir)
      .filter((report) => report.judge.hash === hash)
      .map((report) => report.variant),
  );
  const missing = view.manifest.variants.filter((variant) => !reported.has(variant));
  return missing.length === 0 ? null : `there is no report on ${missing.join(", ")}`;
}
