import type { CorpusMessage, CorpusTool } from "./corpus-schema.ts";

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Why a request cannot be replayed as it was; the reader counts these by their reason. */
export class NotReplayable extends Error {}

const ROLES: Readonly<Record<string, CorpusMessage["role"]>> = {
  system: "system",
  developer: "system",
  user: "user",
  human: "user",
  assistant: "assistant",
  gpt: "assistant",
  model: "assistant",
  tool: "tool",
  function: "tool",
};

/** Text of a message: plain, in parts, or none at all. */
function textOf(content: unknown): string {
  if (content == null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw new TypeError("content is neither text nor a list of parts");
  return content
    .map((part: unknown) => {
      if (typeof part === "string") return part;
      if (isFields(part) && typeof part["text"] === "string") return part["text"];
      throw new NotReplayable("images or other parts that are not text");
    })
    .join("");
}

function callOf(call: unknown): NonNullable<CorpusMessage["tool_calls"]>[number] {
  const made = isFields(call) ? call : {};
  const called = isFields(made["function"]) ? made["function"] : made;
  const { name, arguments: args = {} } = called;
  if (typeof name !== "string") throw new TypeError("a tool call has no function name");
  return {
    ...(typeof made["id"] === "string" ? { id: made["id"] } : {}),
    name,
    arguments_text: typeof args === "string" ? args : JSON.stringify(args),
  };
}

function messageOf(message: unknown): CorpusMessage {
  if (!isFields(message)) throw new TypeError("is not an object");
  const said = message["role"] ?? message["from"];
  const role = typeof said === "string" ? ROLES[said.toLowerCase()] : undefined;
  if (role === undefined)
    throw new TypeError(`has no role that is known (${JSON.stringify(said)})`);
  if (Array.isArray(message["images"]) && message["images"].length > 0) {
    throw new NotReplayable("images or other parts that are not text");
  }
  const calls = message["tool_calls"] ?? (message["function_call"] && [message["function_call"]]);
  const tool_name = message["tool_name"] ?? (role === "tool" ? message["name"] : undefined);
  return {
    role,
    content: textOf(message["content"] ?? message["value"]),
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls.map(callOf) } : {}),
    ...(typeof message["tool_call_id"] === "string"
      ? { tool_call_id: message["tool_call_id"] }
      : {}),
    ...(typeof tool_name === "string" ? { tool_name } : {}),
  };
}

/**
 * The messages of a request body, in one form. Throws a `TypeError` that names the message that is
 * wrong, or `NotReplayable`.
 */
export function messagesOfBody(body: Fields): CorpusMessage[] {
  const list = body["messages"] ?? body["conversations"];
  const system = textOf(body["system"]);
  const first: CorpusMessage[] = system === "" ? [] : [{ role: "system", content: system }];
  if (!Array.isArray(list)) return [...first, { role: "user", content: textOf(body["prompt"]) }];
  const messages = list.map((message: unknown, i) => {
    try {
      return messageOf(message);
    } catch (error) {
      if (error instanceof NotReplayable || !(error instanceof TypeError)) throw error;
      throw new TypeError(`messages[${i}] ${error.message}`, { cause: error });
    }
  });
  if (!messages.some(({ role }) => role === "user" || role === "tool")) {
    throw new TypeError("messages hold nothing from a user");
  }
  return [...first, ...messages];
}

/** Tools as they were offered; the old `functions` in today's form. */
export function toolsOfBody(body: Fields): CorpusTool[] {
  const { tools, functions } = body;
  if (Array.isArray(tools)) return tools.filter(isFields) as CorpusTool[];
  if (!Array.isArray(functions)) return [];
  return functions
    .filter(isFields)
    .map((given) => ({ type: "function", function: given })) as never;
}
