import { fieldsOf, listOf, numberOf, textOf } from "../answer.ts";
import { readToolCalls } from "../messages.ts";
import type { ChatMessage } from "../runner.ts";
import type { Sampling } from "./node-llama.ts";

/** A chat request as the embedded server understands it. */
export interface ChatRequest {
  model: string | null;
  messages: ChatMessage[];
  /** Descriptions of the tools that may be called, as the model's template takes them. */
  tools: readonly unknown[];
  sampling: Sampling;
  /** GBNF that the answer must follow, as llama-server takes it. */
  grammar: string | null;
  max_tokens: number | null;
  cache_prompt: boolean;
  stream: boolean;
  include_usage: boolean;
  return_progress: boolean;
}

/** llama-server's defaults, so that an answer does not depend on which of the two is asked. */
const DEFAULTS = { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05 } as const;

const ROLES = ["system", "user", "assistant", "tool"] as const;

function readMessage(value: unknown): ChatMessage | undefined {
  const fields = fieldsOf(value);
  const role = ROLES.find((name) => name === fields["role"]);
  const tool_calls = readToolCalls(fields["tool_calls"]);
  // An assistant that only calls tools says nothing.
  const content = fields["content"] ?? (tool_calls.length > 0 ? "" : undefined);
  if (role === undefined || typeof content !== "string") return undefined;
  const call_id = textOf(fields["tool_call_id"]);
  return {
    role,
    content,
    ...(tool_calls.length === 0 ? {} : { tool_calls }),
    ...(call_id === null ? {} : { tool_call_id: call_id }),
  };
}

function tokenLimit(body: Readonly<Record<string, unknown>>): number | null {
  const limit = body["max_tokens"] ?? body["max_completion_tokens"] ?? body["n_predict"];
  const count = numberOf(limit);
  return count === null || count < 0 ? null : Math.max(1, Math.floor(count));
}

/** Reads a request's body, or says in words what is wrong with it. */
export function readChatRequest(text: string): ChatRequest | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return "the body is not JSON";
  }
  const body = fieldsOf(parsed);
  const messages = listOf(body["messages"]).map((message) => readMessage(message));
  if (messages.length === 0) return '"messages" must be a list with at least one message';
  const whole = messages.filter((message) => message !== undefined);
  if (whole.length < messages.length) {
    return `each message needs a role (${ROLES.join(", ")}) and a text as content`;
  }
  const seed = numberOf(body["seed"]);
  return {
    model: typeof body["model"] === "string" ? body["model"] : null,
    messages: whole,
    tools: listOf(body["tools"]),
    sampling: {
      temperature: numberOf(body["temperature"]) ?? DEFAULTS.temperature,
      topK: numberOf(body["top_k"]) ?? DEFAULTS.topK,
      topP: numberOf(body["top_p"]) ?? DEFAULTS.topP,
      minP: numberOf(body["min_p"]) ?? DEFAULTS.minP,
      ...(seed === null || seed < 0 ? {} : { seed }),
    },
    grammar: typeof body["grammar"] === "string" ? body["grammar"] : null,
    max_tokens: tokenLimit(body),
    cache_prompt: body["cache_prompt"] !== false,
    stream: body["stream"] === true,
    include_usage: fieldsOf(body["stream_options"])["include_usage"] === true,
    return_progress: body["return_progress"] === true,
  };
}
