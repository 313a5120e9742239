import { fieldsOf, listOf, textOf } from "./answer.ts";
import type { ChatMessage, ToolCall } from "./runner.ts";

type Written = Record<string, unknown>;

function write(
  { role, content, tool_calls = [], tool_call_id, tool_name }: ChatMessage,
  call: (call: ToolCall) => unknown,
): Written {
  return {
    role,
    content,
    ...(tool_calls.length === 0 ? {} : { tool_calls: tool_calls.map((made) => call(made)) }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(tool_name === undefined ? {} : { tool_name }),
  };
}

/** Arguments as an object; an empty one where the model wrote something else. */
function argumentsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function withId({ id }: ToolCall): Written {
  return id == null ? {} : { id };
}

/** As OpenAI's interface takes messages: arguments as text, no `tool_name`. */
export function chatMessages(messages: readonly ChatMessage[]): Written[] {
  return messages.map((message) => {
    const { tool_name: _, ...rest } = message;
    return write(rest, (call) => ({
      ...withId(call),
      type: "function",
      function: { name: call.name, arguments: call.arguments_text },
    }));
  });
}

/** As Ollama takes messages: arguments as an object. */
export function ollamaMessages(messages: readonly ChatMessage[]): Written[] {
  return messages.map((message) =>
    write(message, (call) => ({
      ...withId(call),
      function: { name: call.name, arguments: argumentsOf(call.arguments_text) },
    })),
  );
}

/** As the Jinja templates of models read messages: OpenAI's shape with arguments as an object. */
export function templateMessages(messages: readonly ChatMessage[]): Written[] {
  return messages.map((message) =>
    write(message, (call) => ({
      ...withId(call),
      type: "function",
      function: { name: call.name, arguments: argumentsOf(call.arguments_text) },
    })),
  );
}

/** Tool calls as OpenAI's interface writes them; what has no name is left out. */
export function readToolCalls(value: unknown): ToolCall[] {
  return listOf(value).flatMap((entry) => {
    const called = fieldsOf(fieldsOf(entry)["function"]);
    const name = textOf(called["name"]);
    if (name === null) return [];
    const id = textOf(fieldsOf(entry)["id"]);
    return [{ id, name, arguments_text: textOf(called["arguments"]) ?? "" }];
  });
}
