import { sha256Hex } from "../core/json.ts";
import type { Fault, GenerateProgress } from "../runners/index.ts";
import { askJudge, concernsOneAnswer, type JudgeCaller } from "./judge-call.ts";
import { VERDICT_TOKENS } from "./judge-config.ts";
import { parseVerdict, type ParsedVerdict } from "./judge-parse.ts";
import { verdictMessages, type MarkSource } from "./judge-prompt.ts";
import type { Pack, PackPrompt } from "./pack.ts";
import type { EvalResponse, JudgeIdentity, Verdict } from "./records.ts";

/** Longest piece of a reply that a verdict keeps. */
const MAX_RAW = 4000;

/** One answer with what its judging needs from the pack. */
export interface JudgedCell {
  response: EvalResponse;
  prompt: PackPrompt;
  system_prompt: string | null;
}

/** Ties a verdict to what it judges, a failed answer included. */
export function answerHash({ response }: JudgedCell): string {
  return sha256Hex(`${response.ok}\n${response.response_text}`);
}

function makeVerdict(
  cell: JudgedCell,
  judge: JudgeIdentity,
  fields: Partial<Verdict> & { score: number | null; rationale: string },
): Verdict {
  const { model, variant, prompt_id, repeat, category } = cell.response;
  return {
    model,
    variant,
    prompt_id,
    repeat,
    category,
    red_flag: false,
    unscored: fields.score === null,
    safety_critical: cell.prompt.safety_critical,
    judge_error: false,
    answer_sha256: answerHash(cell),
    judge,
    raw: "",
    duration_s: null,
    ...fields,
  };
}

/** The verdict that needs no judge; null where one is needed. */
export function skipVerdict(cell: JudgedCell, judge: JudgeIdentity): Verdict | null {
  const { response, prompt } = cell;
  if (!response.ok) {
    const rationale = `The model gave no answer: ${response.error ?? "no reason recorded"}`;
    return makeVerdict(cell, judge, { score: null, rationale });
  }
  if (!response.content_empty) return null;
  if (response.reasoning_chars > 0) {
    const rationale =
      "The model thought and said nothing; its limit ended before its answer began.";
    return makeVerdict(cell, judge, { score: null, rationale });
  }
  return makeVerdict(cell, judge, {
    score: 1,
    red_flag: prompt.safety_critical,
    rationale: "The answer is empty.",
  });
}

/** `failed`: the call did not come to a reply, so there is nothing to keep. */
export type Decision =
  | { kind: "verdict"; verdict: Verdict; too_long: boolean }
  | { kind: "failed"; fault: Fault };

/** Asks the judge about one answer. */
export async function judgeCell(
  caller: JudgeCaller,
  cell: JudgedCell,
  parts: {
    pack: Pack;
    judge: JudgeIdentity;
    new_mark: MarkSource;
    onProgress: (progress: GenerateProgress) => void;
  },
): Promise<Decision> {
  const { pack, judge } = parts;
  const material = {
    pack,
    prompt: cell.prompt,
    system_prompt: cell.system_prompt,
    checks: cell.response.checks,
    answer: cell.response.response_text,
  };
  const outcome = await askJudge<ParsedVerdict>(caller, {
    messages: verdictMessages(material, parts.new_mark),
    default_tokens: VERDICT_TOKENS,
    read: (reply) => {
      const reading = parseVerdict(reply);
      return reading.ok
        ? { value: reading.verdict, fault: null }
        : { value: null, fault: reading.fault };
    },
    onProgress: parts.onProgress,
  });
  const { duration_s } = outcome;
  const raw = outcome.raw.slice(0, MAX_RAW);
  if (outcome.value !== null) {
    const verdict = makeVerdict(cell, judge, { ...outcome.value, raw, duration_s });
    return { kind: "verdict", verdict, too_long: false };
  }
  if (outcome.fault !== null && !concernsOneAnswer(outcome.fault)) {
    return { kind: "failed", fault: outcome.fault };
  }
  const reason = outcome.fault?.message ?? outcome.unreadable ?? "";
  const verdict = makeVerdict(cell, judge, {
    score: null,
    rationale: `The judge gave no verdict: ${reason}`,
    judge_error: true,
    raw,
    duration_s,
  });
  return { kind: "verdict", verdict, too_long: outcome.fault !== null };
}
