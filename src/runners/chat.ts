import type { JsonValue } from "../core/json.ts";
import {
  fieldsOf,
  listOf,
  amountOf,
  parseMessage,
  textOf,
  type Answer,
  type Dialect,
  type Fields,
} from "./answer.ts";
import { errorBody } from "./fault.ts";
import { chatMessages } from "./messages.ts";
import type { GenerateRequest } from "./runner.ts";

/**
 * The body of a streamed chat request. A pack's own keys win over ours, but not over what makes the
 * answer readable: model, messages, stream.
 */
export function chatBody(
  request: GenerateRequest,
  more: Readonly<Record<string, JsonValue>> = {},
): Record<string, unknown> {
  return {
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(request.seed === null ? {} : { seed: request.seed }),
    ...(request.max_tokens === null ? {} : { max_tokens: request.max_tokens }),
    ...more,
    ...request.extra_body,
    model: request.model,
    messages: chatMessages(request.messages),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function readUsage(usage: Fields, answer: Answer): void {
  const prompt = fieldsOf(usage["prompt_tokens_details"]);
  const completion = fieldsOf(usage["completion_tokens_details"]);
  answer.usage = {
    prompt_tokens: amountOf(usage["prompt_tokens"]),
    completion_tokens: amountOf(usage["completion_tokens"]),
    reasoning_tokens: amountOf(completion["reasoning_tokens"]),
    cached_tokens: amountOf(prompt["cached_tokens"]) ?? answer.usage.cached_tokens,
  };
}

function seconds(milliseconds: unknown): number | null {
  const value = amountOf(milliseconds);
  return value === null ? null : value / 1000;
}

/** llama-server's own measurements, in its last piece. */
function readTimings(timings: Fields, answer: Answer): void {
  answer.server_timing.prompt_s = seconds(timings["prompt_ms"]);
  answer.server_timing.decode_s = seconds(timings["predicted_ms"]);
  answer.usage.cached_tokens ??= amountOf(timings["cache_n"]);
}

function readProgress(progress: Fields, answer: Answer): void {
  const total = amountOf(progress["total"]);
  const processed = amountOf(progress["processed"]);
  if (total === null || processed === null || total <= 0) return;
  answer.prompt_share = Math.min(1, processed / total);
}

/** Name once, arguments in pieces; the index says which call a piece belongs to. */
function readToolCall(value: unknown, answer: Answer): void {
  const call = fieldsOf(value);
  const called = fieldsOf(call["function"]);
  answer.addCall(amountOf(call["index"]) ?? 0, {
    id: textOf(call["id"]),
    name: textOf(called["name"]) ?? "",
    arguments: textOf(called["arguments"]) ?? "",
  });
}

function readChoice(choice: Fields, at_s: number, answer: Answer): void {
  const delta = fieldsOf(choice["delta"]);
  // llama-server and LM Studio write reasoning_content, vLLM and others reasoning.
  const thought = delta["reasoning_content"] ?? delta["reasoning"];
  if (typeof thought === "string") answer.think(thought, at_s);
  if (typeof delta["content"] === "string") answer.say(delta["content"], at_s);
  for (const call of listOf(delta["tool_calls"])) readToolCall(call, answer);
  answer.finish_reason = textOf(choice["finish_reason"]) ?? answer.finish_reason;
}

/** The stream of `/v1/chat/completions`, with the additions of llama-server, vLLM and LM Studio. */
export const chatDialect: Dialect = {
  framing: "sse",
  media_types: ["text/event-stream"],
  read(message, at_s, answer) {
    if (message.trim() === "[DONE]") {
      answer.ended = true;
      return;
    }
    const piece = parseMessage(message, answer);
    if (piece === undefined) return;
    const error = errorBody(piece);
    if (error !== undefined) return answer.fail(error);
    answer.answered_model ??= textOf(piece["model"]);
    const choice = listOf(piece["choices"])[0];
    if (choice !== undefined) readChoice(fieldsOf(choice), at_s, answer);
    if (piece["prompt_progress"] !== undefined) {
      readProgress(fieldsOf(piece["prompt_progress"]), answer);
    }
    if (piece["usage"] != null) readUsage(fieldsOf(piece["usage"]), answer);
    if (piece["timings"] !== undefined) readTimings(fieldsOf(piece["timings"]), answer);
    if (piece["truncated"] === true) answer.truncated = true;
  },
};
