import type { JsonValue } from "../core/json.ts";
import {
  fieldsOf,
  amountOf,
  listOf,
  parseMessage,
  textOf,
  type Answer,
  type Dialect,
  type Fields,
} from "./answer.ts";
import { errorBody } from "./fault.ts";
import { ollamaMessages } from "./messages.ts";
import type { GenerateRequest } from "./runner.ts";

function fullName(name: string): string {
  const last = name.slice(name.lastIndexOf("/") + 1); // a registry before it may have a port
  return (last.includes(":") ? name : `${name}:latest`).toLowerCase();
}

/** `llama3.2` and `llama3.2:latest` are one model. */
export function sameOllamaModel(a: string, b: string): boolean {
  return fullName(a) === fullName(b);
}

/** The `options` of an extra body: what Ollama calls the parameters of model and sampling. */
export function ollamaOptions(
  extra_body: Readonly<Record<string, JsonValue>>,
): Record<string, JsonValue> {
  const { options } = extra_body;
  return typeof options === "object" && options !== null && !Array.isArray(options) ? options : {};
}

/** Beside `options`, what makes Ollama load a second time where a later request says otherwise. */
export function launchSettings(
  extra_body: Readonly<Record<string, JsonValue>>,
): Record<string, JsonValue> {
  const { truncate, shift } = extra_body;
  return {
    ...(truncate === undefined ? {} : { truncate }),
    ...(shift === undefined ? {} : { shift }),
  };
}

/**
 * The body of a streamed chat. Every option is named in every request, also where it is the default:
 * a model's own file may set others. -1 for the length means "until it ends by itself".
 */
export function ollamaBody(request: GenerateRequest, keep_alive: string): Record<string, unknown> {
  return {
    truncate: false, // else a prompt that is too long is cut without a word
    keep_alive,
    ...request.extra_body,
    options: {
      ...(request.temperature === null ? {} : { temperature: request.temperature }),
      ...(request.seed === null ? {} : { seed: request.seed }),
      num_predict: request.max_tokens ?? -1,
      ...ollamaOptions(request.extra_body),
    },
    model: request.model,
    messages: ollamaMessages(request.messages),
    stream: true,
  };
}

/** All of Ollama's durations are nanoseconds. */
function seconds(nanoseconds: unknown): number | null {
  const value = amountOf(nanoseconds);
  return value === null ? null : value / 1e9;
}

function readFinal(piece: Fields, answer: Answer): void {
  answer.finish_reason = textOf(piece["done_reason"]);
  answer.usage.prompt_tokens = amountOf(piece["prompt_eval_count"]);
  answer.usage.completion_tokens = amountOf(piece["eval_count"]);
  const [load_s, prompt_s, decode_s, total_s] = [
    seconds(piece["load_duration"]),
    seconds(piece["prompt_eval_duration"]),
    seconds(piece["eval_duration"]),
    seconds(piece["total_duration"]),
  ];
  // What is left of the total is the time spent waiting for a free slot: nothing else tells it.
  const queue_s =
    total_s === null || load_s === null || prompt_s === null || decode_s === null
      ? null
      : Math.max(0, total_s - load_s - prompt_s - decode_s);
  answer.server_timing = { load_s, prompt_s, decode_s, queue_s };
}

/** Whole calls, each with its arguments as an object. */
function readToolCall(value: unknown, answer: Answer): void {
  const called = fieldsOf(fieldsOf(value)["function"]);
  const { arguments: given } = called;
  answer.addCall(null, {
    id: textOf(fieldsOf(value)["id"]),
    name: textOf(called["name"]) ?? "",
    arguments: typeof given === "string" ? given : JSON.stringify(given ?? {}),
  });
}

/** The stream of `/api/chat`. */
export const ollamaDialect: Dialect = {
  framing: "lines",
  media_types: ["application/x-ndjson", "application/json"],
  read(message, at_s, answer) {
    const piece = parseMessage(message, answer);
    if (piece === undefined) return;
    const error = errorBody(piece);
    if (error !== undefined) return answer.fail(error);
    answer.answered_model ??= textOf(piece["model"]);
    const said = fieldsOf(piece["message"]);
    if (typeof said["thinking"] === "string") answer.think(said["thinking"], at_s);
    if (typeof said["content"] === "string") answer.say(said["content"], at_s);
    for (const call of listOf(said["tool_calls"])) readToolCall(call, answer);
    if (piece["done"] !== true) return;
    readFinal(piece, answer);
    answer.ended = true;
  },
};
