import type { Clock } from "../core/clock.ts";
import type { JsonValue } from "../core/json.ts";
import type {
  ChatMessage,
  Fault,
  GenerateProgress,
  GenerateResult,
  Runner,
} from "../runners/index.ts";
import { thinkingHints } from "./judge-identity.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { repairMessages } from "./judge-prompt.ts";

export interface JudgeCaller {
  runner: Runner;
  model: string;
  config: JudgeConfig;
  clock: Clock;
  signal: AbortSignal | undefined;
}

/** Faults that lie in one answer's length, not in the judge: the next answer may well pass. */
const ONE_ANSWER_ONLY = new Set<string>(["context_exceeded", "prompt_truncated"]);

export function concernsOneAnswer(fault: Fault): boolean {
  return ONE_ANSWER_ONLY.has(fault.class);
}

function generate(
  caller: JudgeCaller,
  messages: readonly ChatMessage[],
  default_tokens: number,
  onProgress: (progress: GenerateProgress) => void,
): Promise<GenerateResult> {
  const { config } = caller;
  const limit_s = config.call_timeout_s;
  const extra_body: Record<string, JsonValue> = {
    ...(config.suppress_thinking ? thinkingHints(caller.runner.settings.kind) : {}),
    ...config.extra_body,
  };
  return caller.runner.generate({
    model: caller.model,
    messages,
    temperature: config.temperature,
    seed: config.seed,
    max_tokens: config.max_tokens ?? default_tokens,
    extra_body,
    // One limit for the whole call: prefill and silence may take all of it, but no more.
    limits: {
      connect_s: Math.min(10, limit_s),
      first_token_s: limit_s,
      stall_s: limit_s,
      total_s: limit_s,
    },
    ...(caller.signal === undefined ? {} : { signal: caller.signal }),
    onProgress,
  });
}

/** What came of one question to the judge, the repair included. */
export interface CallOutcome<T> {
  /** null where a call failed or no reply could be read. */
  value: T | null;
  /** The call's fault; null where the judge did reply. */
  fault: Fault | null;
  /** What was wrong with the last reply; null where it could be read. */
  unreadable: string | null;
  /** The last reply as it came. */
  raw: string;
  duration_s: number;
}

export interface Question<T> {
  messages: readonly ChatMessage[];
  /** Output limit where the config sets none. */
  default_tokens: number;
  read: (reply: string) => { value: T | null; fault: string | null };
  onProgress: (progress: GenerateProgress) => void;
}

/**
 * Asks once, and once more where the reply could not be read. A partly good reading (`value` and
 * `fault`) is kept where the second one is no better.
 */
export async function askJudge<T>(
  caller: JudgeCaller,
  question: Question<T>,
): Promise<CallOutcome<T>> {
  const { read, default_tokens, onProgress } = question;
  const started = caller.clock.monotonic_ms();
  const elapsed_s = (): number => (caller.clock.monotonic_ms() - started) / 1000;
  const first = await generate(caller, question.messages, default_tokens, onProgress);
  if (!first.ok) return failed(first, elapsed_s());
  const reading = read(first.text);
  const firstOutcome = {
    value: reading.value,
    fault: null,
    unreadable: reading.value === null ? withCut(reading.fault, first) : null,
    raw: first.text,
  };
  if (reading.fault === null) return { ...firstOutcome, duration_s: elapsed_s() };
  const messages = repairMessages(question.messages, first.text, reading.fault);
  const second = await generate(caller, messages, default_tokens, onProgress);
  if (!second.ok) {
    return reading.value === null
      ? failed(second, elapsed_s())
      : { ...firstOutcome, duration_s: elapsed_s() };
  }
  const again = read(second.text);
  // Partly good twice: the first one stands, it was given without being pressed.
  if (again.fault !== null && reading.value !== null) {
    return { ...firstOutcome, duration_s: elapsed_s() };
  }
  return {
    value: again.value,
    fault: null,
    unreadable: again.value === null ? withCut(again.fault, second) : null,
    raw: second.text,
    duration_s: elapsed_s(),
  };
}

function withCut(fault: string | null, result: GenerateResult): string {
  const text = fault ?? "the reply cannot be read";
  return result.finish_reason === "length" ? `${text} (cut at the output limit)` : text;
}

function failed<T>(result: GenerateResult, duration_s: number): CallOutcome<T> {
  const fault: Fault = result.fault ?? {
    class: "bad_response",
    message: "the runner gave no reason",
    retryable: true,
    http_status: null,
  };
  return { value: null, fault, unreadable: null, raw: result.text, duration_s };
}
