import type { GenerateProgress } from "../runners/index.ts";
import { askJudge, type JudgeCaller } from "./judge-call.ts";
import { REPORT_TOKENS } from "./judge-config.ts";
import { parseReport, type ParsedReport } from "./judge-parse.ts";
import { reportMessages, type Evidence, type MarkSource } from "./judge-prompt.ts";
import type { Pack } from "./pack.ts";
import { coverage } from "./quality.ts";
import type { EvalResponse, JudgeIdentity, ModelReport, Verdict } from "./records.ts";
import { cellKeyText } from "./matrix.ts";

/** Longest rationale that goes into the evidence. */
const MAX_RATIONALE = 300;

/** What the report rests on: one line for each verdict with a score, in the matrix' order. */
function evidenceOf(verdicts: readonly Verdict[], responses: readonly EvalResponse[]): Evidence[] {
  const checks = new Map(responses.map((row) => [cellKeyText(row), row.checks]));
  return verdicts.flatMap((verdict) => {
    if (verdict.score === null) return [];
    const results = checks.get(cellKeyText(verdict)) ?? [];
    return [
      {
        category: verdict.category,
        task: verdict.prompt_id,
        score: verdict.score,
        red_flag: verdict.red_flag,
        safety: verdict.safety_critical,
        checks_passed: results.filter((result) => result.passed === true).length,
        checks_failed: results.filter((result) => result.passed === false).length,
        rationale: verdict.rationale.slice(0, MAX_RATIONALE),
      },
    ];
  });
}

export interface HolisticParts {
  pack: Pack;
  judge: JudgeIdentity;
  model: string;
  variant: string;
  verdicts: readonly Verdict[];
  responses: readonly EvalResponse[];
  new_mark: MarkSource;
  onProgress: (progress: GenerateProgress) => void;
}

/** `curable`: the report has no scores because a call failed, and another try may do better. */
export interface HolisticOutcome {
  report: ModelReport;
  curable: boolean;
}

/** A report without scores, and why. */
function emptyReport(
  parts: Pick<HolisticParts, "model" | "variant" | "judge">,
  error: string,
): ModelReport {
  const { model, variant, judge } = parts;
  return { model, variant, dim_scores: {}, dim_rationales: {}, error, judge };
}

/**
 * Asks for the scores of all dimensions of one model under one variant. Without enough evidence no
 * call is made: a judge that is shown nothing still gives numbers.
 */
export async function judgeWhole(
  caller: JudgeCaller,
  parts: HolisticParts,
): Promise<HolisticOutcome> {
  const { pack, model, variant, judge } = parts;
  const { reason } = coverage(pack, parts.verdicts);
  if (reason !== null) return { report: emptyReport(parts, reason), curable: false };
  const dimensions = pack.dimensions.map(({ id }) => id);
  const evidence = evidenceOf(parts.verdicts, parts.responses);
  const outcome = await askJudge<ParsedReport>(caller, {
    messages: reportMessages(pack, evidence, parts.new_mark),
    default_tokens: REPORT_TOKENS,
    read: (reply) => readReport(reply, dimensions),
    onProgress: parts.onProgress,
  });
  if (outcome.value === null) {
    const error = outcome.fault?.message ?? outcome.unreadable ?? "no reply";
    return { report: emptyReport(parts, `the judge gave no report: ${error}`), curable: true };
  }
  return { report: { model, variant, ...outcome.value, error: null, judge }, curable: false };
}

function readReport(
  reply: string,
  dimensions: readonly string[],
): { value: ParsedReport | null; fault: string | null } {
  const report = parseReport(reply, dimensions);
  const scores = report?.dim_scores ?? {};
  const missing = dimensions.filter((id) => !Object.hasOwn(scores, id));
  const fault = missing.length === 0 ? null : `there is no usable score for ${missing.join(", ")}`;
  return { value: report, fault };
}
