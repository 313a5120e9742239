import { expect, test } from "vitest";
import { Answer, type Dialect } from "../../../src/runners/answer.ts";
import { chatDialect } from "../../../src/runners/chat.ts";
import { readChatRequest } from "../../../src/runners/embedded/chat-request.ts";
import { chatMessages, ollamaMessages, templateMessages } from "../../../src/runners/messages.ts";
import { ollamaDialect } from "../../../src/runners/ollama-chat.ts";
import type { ChatMessage } from "../../../src/runners/index.ts";
import { fakeOllama, line, ollamaFinal, ollamaStream } from "../../helpers/fake-ollama.ts";
import { fakeOpenAi, sse, streamed, usagePiece } from "../../helpers/fake-openai.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";

function read(dialect: Dialect, messages: readonly unknown[]): Answer {
  const answer = new Answer();
  messages.forEach((message, at) => dialect.read(JSON.stringify(message), at + 1, answer));
  return answer;
}

const delta = (tool_calls: unknown[], finish_reason: string | null = null) => ({
  choices: [{ delta: { tool_calls }, finish_reason }],
});

test("pieces of two calls that come mixed are put together by their index", () => {
  const answer = read(chatDialect, [
    delta([{ index: 0, id: "a", type: "function", function: { name: "read", arguments: "" } }]),
    delta([{ index: 1, id: "b", function: { name: "write", arguments: '{"pa' } }]),
    delta([{ index: 0, function: { arguments: '{"path":' } }]),
    delta([
      { index: 1, function: { name: "write", arguments: 'th":"y"}' } },
      { index: 0, function: { arguments: '"x"}' } },
    ]),
    delta([], "tool_calls"),
  ]);
  expect(answer.tool_calls).toEqual([
    { id: "a", name: "read", arguments_text: '{"path":"x"}' },
    { id: "b", name: "write", arguments_text: '{"path":"y"}' },
  ]);
  expect(answer).toMatchObject({ begun: true, phase: "answer", finish_reason: "tool_calls" });
  // A call is nothing that a person sees, so it is no first content either.
  expect(answer).toMatchObject({ text: "", first_content_s: null });
});

test("Ollama's whole calls are kept in their order, arguments as text", () => {
  const answer = read(ollamaDialect, [
    { message: { tool_calls: [{ function: { name: "read", arguments: { b: 1, a: "x" } } }] } },
    { message: { tool_calls: [{ function: { name: "stop" } }, { function: {} }] } },
    { message: {}, done: true, done_reason: "stop" },
  ]);
  expect(answer.tool_calls).toEqual([
    { id: null, name: "read", arguments_text: '{"b":1,"a":"x"}' },
    { id: null, name: "stop", arguments_text: "{}" },
    { id: null, name: "", arguments_text: "{}" },
  ]);
});

test("arguments without an end are trouble before they fill the memory", () => {
  const answer = new Answer();
  const long = "x".repeat(1 << 20);
  for (let i = 0; i < 60 && answer.trouble === null; i += 1) {
    answer.addCall(0, { id: null, name: "f", arguments: long });
  }
  expect(answer.trouble).toMatchObject({ class: "bad_response" });
});

const MESSAGES: ChatMessage[] = [
  { role: "user", content: "look" },
  {
    role: "assistant",
    content: "",
    tool_calls: [
      { id: "c1", name: "read", arguments_text: '{"path":"x"}' },
      { name: "odd", arguments_text: "{not json" },
    ],
  },
  { role: "tool", content: "text of x", tool_call_id: "c1", tool_name: "read" },
];

test("each server gets recorded tool turns as it wants them", () => {
  expect(chatMessages(MESSAGES)).toEqual([
    { role: "user", content: "look" },
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "read", arguments: '{"path":"x"}' } },
        { type: "function", function: { name: "odd", arguments: "{not json" } },
      ],
    },
    { role: "tool", content: "text of x", tool_call_id: "c1" },
  ]);
  const ollama = ollamaMessages(MESSAGES);
  expect(ollama[1]?.["tool_calls"]).toEqual([
    { id: "c1", function: { name: "read", arguments: { path: "x" } } },
    { function: { name: "odd", arguments: {} } },
  ]);
  expect(ollama[2]).toEqual(MESSAGES[2]);
  expect(templateMessages(MESSAGES)[1]?.["tool_calls"]).toMatchObject([
    { type: "function", function: { arguments: { path: "x" } } },
    { function: { arguments: {} } },
  ]);
});

test("the embedded server reads what the others are sent, tools too", () => {
  const tools = [{ type: "function", function: { name: "read" } }];
  const body = { messages: chatMessages(MESSAGES), tools };
  const asked = readChatRequest(JSON.stringify(body));
  expect(asked).toMatchObject({ messages: [{}, {}, { tool_call_id: "c1" }], tools });
  const nothing = { messages: [{ role: "assistant", content: null }] };
  expect(readChatRequest(JSON.stringify(nothing))).toContain("a text as content");
  const calls = chatMessages(MESSAGES)[1]?.["tool_calls"];
  const silent = { messages: [{ role: "assistant", content: null, tool_calls: calls }] };
  expect(readChatRequest(JSON.stringify(silent))).toMatchObject({
    messages: [{ content: "", tool_calls: [{ name: "read" }, { name: "odd" }] }],
  });
});

test("tools and recorded turns go out, calls come back, on both protocols", async () => {
  const tools = [{ type: "function", function: { name: "read", parameters: {} } }];
  const openai = await fakeOpenAi({
    chat: () =>
      streamed([
        {
          write: sse({
            model: "fake",
            ...delta([{ index: 0, id: "z", function: { name: "read" } }]),
          }),
        },
        { write: sse({ model: "fake", ...delta([], "tool_calls") }) },
        { write: usagePiece() },
        { write: sse("[DONE]") },
      ]),
  });
  const request = chatRequest({ messages: MESSAGES, extra_body: { tools } });
  const first = await attach("openai", openai.url).generate(request);
  expect(first).toMatchObject({ ok: true, tool_calls: [{ id: "z", name: "read" }], text: "" });
  expect(openai.requests.at(-1)?.body).toMatchObject({ tools, messages: chatMessages(MESSAGES) });

  const message = { tool_calls: [{ function: { name: "read", arguments: { path: "x" } } }] };
  const ollama = await fakeOllama({
    chat: () =>
      ollamaStream([
        { write: line({ model: "fake", message, done: false }) },
        { write: ollamaFinal() },
      ]),
  });
  const second = await attach("ollama", ollama.url).generate(request);
  expect(second).toMatchObject({
    ok: true,
    tool_calls: [{ name: "read", arguments_text: '{"path":"x"}' }],
  });
  expect(ollama.requests.at(-1)?.body).toMatchObject({ tools, messages: ollamaMessages(MESSAGES) });
});
