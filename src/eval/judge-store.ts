import { existsSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { readJsonLines, writeFileAtomic } from "../core/files.ts";
import { jsonLine } from "../core/json.ts";
import { bundlePaths } from "./bundle-paths.ts";
import { cellKeyText } from "./matrix.ts";
import type { ModelReport, Verdict } from "./records.ts";

const text = z.string().catch("");
const amount = z.number().nullable().catch(null);

/** Verdicts of an older writer carry no judge: their hash is empty and equals nobody's. */
const NOBODY = { model: "", runner: "", runner_version: null, temperature: 0, hash: "" };
const identity = z
  .object({
    model: text,
    runner: text,
    runner_version: z.string().nullable().catch(null),
    temperature: z.number().catch(0),
    hash: z.string(),
  })
  .catch(NOBODY);

const verdictSchema = z
  .object({
    model: z.string(),
    variant: z.string(),
    prompt_id: z.string(),
    repeat: z.int().catch(0),
    category: text,
    score: amount,
    red_flag: z.boolean().catch(false),
    rationale: text,
    unscored: z.boolean().catch(false),
    safety_critical: z.boolean().catch(false),
    judge_error: z.boolean().catch(false),
    answer_sha256: text,
    judge: identity,
    raw: text,
    duration_s: amount,
  })
  .transform((verdict): Verdict => {
    // An older writer gave 0 where there is no score; a score out of range counts for nothing.
    const { score } = verdict;
    const valid = !verdict.unscored && score !== null && score >= 1 && score <= 5;
    return { ...verdict, score: valid ? score : null, unscored: !valid };
  });

const reportSchema = z.object({
  model: z.string(),
  variant: z.string(),
  dim_scores: z.record(z.string(), z.number()).catch({}),
  dim_rationales: z.record(z.string(), z.string()).catch({}),
  error: z.string().nullable().catch(null),
  judge: identity,
});

function readLines<T>(path: string, schema: z.ZodType<T>): T[] {
  return readJsonLines(path).flatMap((line) => {
    const row = schema.safeParse(line);
    return row.success ? [row.data] : [];
  });
}

/** The last verdict on each cell, in the order in which the cells first appear. */
function lastOfEachCell(verdicts: readonly Verdict[]): Verdict[] {
  return [...new Map(verdicts.map((verdict) => [cellKeyText(verdict), verdict])).values()];
}

/** The verdicts of a bundle, one for each cell. Half lines are left out. */
export function readVerdicts(bundle_dir: string): Verdict[] {
  return lastOfEachCell(readLines(bundlePaths(bundle_dir).judgements, verdictSchema));
}

export function readReports(bundle_dir: string): ModelReport[] {
  return readLines(bundlePaths(bundle_dir).reports, reportSchema);
}

export function writeLines(path: string, rows: readonly unknown[]): void {
  writeFileAtomic(path, rows.map((row) => jsonLine(row)).join(""));
}

/** `judgements-1a2b3c4d.jsonl`: where the work of a judge lies while another one judges. */
function asidePath(bundle_dir: string, kind: "judgements" | "reports", hash: string): string {
  return join(bundle_dir, `${kind}-${hash.slice(0, 8) || "unknown"}.jsonl`);
}

export interface PriorWork {
  verdicts: Verdict[];
  reports: ModelReport[];
  /** What was set aside or taken up again, for people. */
  notes: string[];
}

/**
 * Leaves in `judgements.jsonl` and `reports.jsonl` what the judge with `hash` wrote and nothing
 * else. The work of others is set aside, not lost, and taken up again when its judge comes back.
 */
export function separateJudges(bundle_dir: string, hash: string): PriorWork {
  const notes: string[] = [];
  const paths = bundlePaths(bundle_dir);
  const separate = <T extends { judge: { hash: string } }>(
    kind: "judgements" | "reports",
    schema: z.ZodType<T>,
  ): T[] => {
    const rows = readLines(paths[kind], schema);
    const groups = new Map<string, T[]>();
    for (const row of rows.filter((other) => other.judge.hash !== hash)) {
      groups.set(row.judge.hash, [...(groups.get(row.judge.hash) ?? []), row]);
    }
    for (const [other, theirs] of groups) {
      const aside = asidePath(bundle_dir, kind, other);
      writeLines(aside, [...readLines(aside, schema), ...theirs]);
      notes.push(`${theirs.length} ${kind} of another judge are set aside in ${basename(aside)}`);
    }
    const back = asidePath(bundle_dir, kind, hash);
    const earlier = readLines(back, schema).filter((row) => row.judge.hash === hash);
    const own = [...earlier, ...rows.filter((row) => row.judge.hash === hash)];
    if (existsSync(paths[kind]) || own.length > 0) writeLines(paths[kind], own);
    if (earlier.length > 0) {
      rmSync(back, { force: true });
      notes.push(`${earlier.length} ${kind} of this judge are taken up from ${basename(back)}`);
    }
    return own;
  };
  const verdicts = lastOfEachCell(separate("judgements", verdictSchema));
  return { verdicts, reports: separate("reports", reportSchema), notes };
}
