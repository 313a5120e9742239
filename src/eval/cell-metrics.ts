import type { GenerateResult, GenerateUsage } from "../runners/index.ts";

/** What is computed from one request alone. Seconds and tokens a second; null = not known. */
export interface CellMetrics {
  ttft_s: number | null;
  e2e_s: number | null;
  prefill_tps: number | null;
  decode_tps: number | null;
  prompt_tokens: number | null;
  completion_tokens: number | null;
  cached_tokens: number | null;
  reasoning_duration_s: number | null;
  reasoning_tps: number | null;
  reasoning_completion_tokens: number | null;
}

function firstOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** `count / seconds`, or null where either is unknown or not above zero. */
function rate(count: number | null, seconds: number | null): number | null {
  if (count === null || seconds === null || count <= 0 || seconds <= 0) return null;
  return count / seconds;
}

function difference(later: number | null, earlier: number | null): number | null {
  return later === null || earlier === null ? null : later - earlier;
}

/**
 * Tokens of the thinking part: as the server tells them, else the completion's tokens shared out by
 * characters; null where neither can be had. 0 where the model did not think.
 */
function reasoningTokens(result: GenerateResult): number | null {
  const { reasoning_tokens, completion_tokens } = result.usage;
  // Some servers write 0 for every answer: beside a thought that came, that is "not told".
  const told = reasoning_tokens !== null && (reasoning_tokens > 0 || result.reasoning_text === "");
  if (told && reasoning_tokens <= (completion_tokens ?? reasoning_tokens)) return reasoning_tokens;
  if (completion_tokens === null) return null;
  if (result.reasoning_text === "") return 0;
  const characters = result.reasoning_text.length + result.text.length;
  return Math.round((completion_tokens * result.reasoning_text.length) / characters);
}

/** Prompt tokens that were processed; null where not told or mostly taken from a cache. */
function processedTokens({ prompt_tokens, cached_tokens }: GenerateUsage): number | null {
  if (prompt_tokens === null) return null;
  const processed = prompt_tokens - (cached_tokens ?? 0);
  return processed * 2 < prompt_tokens ? null : processed;
}

/**
 * Shortest window that gives a rate. Tokens that come faster than the network hands them on arrive
 * in one piece, and what is left of the window is then the time of a few system calls.
 */
const SHORTEST_WINDOW_S = 0.05;

function windowRate(tokens: number | null, window_s: number | null): number | null {
  return window_s !== null && window_s >= SHORTEST_WINDOW_S ? rate(tokens, window_s) : null;
}

/**
 * - `ttft_s`: sending to the first visible content. Thinking does not stop it.
 * - `e2e_s`: sending to the end of the stream.
 * - `prefill_tps`: (prompt tokens - cached tokens, where told) / time to the first generated token of
 *   either kind. Tokens out of a cache were not processed and would inflate it; where they are more
 *   than half, what is left is mostly the fixed cost of a request, and there is no rate.
 * - `decode_tps`: (completion tokens - 1) / the server's own decode time, where it tells one: both
 *   kinds of tokens are made at one speed, and no network is in that figure. The window starts when
 *   the first token is there already, so that token is not counted: for an answer of one token
 *   llama-server tells a microsecond. Elsewhere (answer tokens - 1) / (`e2e_s` - `ttft_s`); answer tokens are the completion's less those of the thinking part, which has a
 *   rate of its own with the same formula. null where the window is too short to be timed.
 */
export function cellMetrics(result: GenerateResult): CellMetrics {
  const { timing, usage, server_timing } = result;
  const thinking = reasoningTokens(result);
  const thought = timing.first_reasoning_s !== null;
  const answerTokens = difference(usage.completion_tokens, thinking);
  const reasoning_duration_s = difference(timing.last_reasoning_s, timing.first_reasoning_s);
  return {
    ttft_s: timing.first_content_s,
    // A request that was never made took no time, which is not a time of zero.
    e2e_s: timing.e2e_s > 0 ? timing.e2e_s : null,
    prefill_tps: rate(
      processedTokens(usage),
      firstOf(timing.first_content_s, timing.first_reasoning_s),
    ),
    decode_tps:
      rate(difference(usage.completion_tokens, 1), server_timing.decode_s) ??
      windowRate(difference(answerTokens, 1), difference(timing.e2e_s, timing.first_content_s)),
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    cached_tokens: usage.cached_tokens,
    reasoning_duration_s,
    reasoning_tps: thought ? windowRate(difference(thinking, 1), reasoning_duration_s) : null,
    reasoning_completion_tokens: thinking,
  };
}
