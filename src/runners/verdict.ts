import type { Answer } from "./answer.ts";
import type { ExchangeOutcome } from "./exchange.ts";
import { fault } from "./fault.ts";
import type { ChatMessage, Fault, GenerateResult } from "./runner.ts";

/** Finish reasons that say that the server gave up. */
const GIVEN_UP = new Set(["error", "abort", "aborted"]);

/**
 * Fewest tokens that the messages can be. Tokenizers split at blanks before anything else, so each
 * word is at least one token; text without blanks (Chinese, a long line of code) counts as little,
 * which only makes the check milder.
 */
function fewestTokens(messages: readonly ChatMessage[]): number {
  let words = 0;
  for (const { content } of messages) words += content.match(/\S+/g)?.length ?? 0;
  return words;
}

/**
 * A prompt that was cut without an error shows in nothing but its token count: Ollama drops the
 * oldest messages, then tokens, and answers 200.
 */
function truncationFault(answer: Answer, messages: readonly ChatMessage[]): Fault | null {
  if (answer.truncated) return fault("prompt_truncated", "the server says that it cut the prompt");
  // No prompt has no tokens: a server that writes 0 does not count.
  const told = answer.usage.prompt_tokens ?? 0;
  const fewest = fewestTokens(messages);
  if (told === 0 || told >= fewest) return null;
  return fault(
    "prompt_truncated",
    `the server read ${told} tokens of a prompt that has ${fewest} words: it cut the prompt`,
  );
}

/** Answered means: the protocol's end mark, a finish reason, and the whole prompt read. */
function answerFault(outcome: ExchangeOutcome, messages: readonly ChatMessage[]): Fault | null {
  if (outcome.fault !== null) return outcome.fault;
  const { answer } = outcome;
  const at = { http_status: 200 };
  const reason = answer.finish_reason;
  if (!answer.ended) {
    if (outcome.clean_end && reason === null) {
      return fault("no_final", "the stream ended without a final object", at);
    }
    return fault("stream_cut", "the stream ended without its end mark", at);
  }
  if (reason === null) return fault("no_final", "the stream ended without a finish reason", at);
  if (GIVEN_UP.has(reason)) return fault("runner_error", `the server gave up: ${reason}`, at);
  return truncationFault(answer, messages);
}

/** Puts the outcome of an exchange into the form that all runners share. */
export function generateResult(
  outcome: ExchangeOutcome,
  messages: readonly ChatMessage[],
): GenerateResult {
  const { answer } = outcome;
  const trouble = answerFault(outcome, messages);
  return {
    ok: trouble === null,
    fault: trouble,
    text: answer.text,
    reasoning_text: answer.reasoning_text,
    tool_calls: answer.tool_calls,
    finish_reason: answer.finish_reason,
    answered_model: answer.answered_model,
    timing: {
      started_at_ms: outcome.started_at_ms,
      ended_at_ms: outcome.ended_at_ms,
      first_byte_s: outcome.first_byte_s,
      first_reasoning_s: answer.first_reasoning_s,
      last_reasoning_s: answer.last_reasoning_s,
      first_content_s: answer.first_content_s,
      e2e_s: outcome.e2e_s,
    },
    usage: answer.usage,
    server_timing: answer.server_timing,
  };
}

/** `result` with a fault that was found afterwards; one that is there already counts more. */
export function withFault(result: GenerateResult, found: Fault | null): GenerateResult {
  if (found === null || !result.ok) return result;
  return { ...result, ok: false, fault: found };
}
