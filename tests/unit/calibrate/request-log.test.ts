import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRequestLogs } from "../../../src/calibrate/request-log.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function logFile(lines: readonly (string | object)[], name = "log.jsonl"): string {
  const path = join(tempDir(), name);
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(path, text.join("\n"));
  return path;
}

async function only(line: object) {
  const { requests } = await readRequestLogs([logFile([line])]);
  expect(requests).toHaveLength(1);
  return requests[0];
}

const ask = { model: "m", messages: [{ role: "user", content: "hello" }] };
const HELLO = [{ role: "user", content: "hello" }];

describe("shapes of logged requests", () => {
  const usage = { prompt_tokens: 12, completion_tokens: 3 };
  it.each([
    ["a bare body", ask],
    ["a body beside its usage", { ...ask, usage }],
    ["request and response", { request: ask, response: { usage } }],
    ["bodies as text", { request: JSON.stringify(ask), response: JSON.stringify({ usage }) }],
    [
      "bodies one level down",
      { request: { url: "/v1", body: ask }, response: { body: { usage } } },
    ],
    ["a batch file's line", { custom_id: "1", method: "POST", body: ask }],
    ["names in camel case", { requestBody: ask, responseBody: { usage } }],
    ["Ollama's answer", { request: ask, response: { prompt_eval_count: 12, eval_count: 3 } }],
    ["names of the responses interface", { ...ask, usage: { input_tokens: 12, output_tokens: 3 } }],
    [
      "llama-server's timings",
      { request: ask, response: { timings: { prompt_n: 2, cache_n: 10, predicted_n: 3 } } },
    ],
    [
      "a stream as text",
      {
        request: ask,
        response: `data: {"choices":[]}\n\ndata: ${JSON.stringify({ usage })}\n\ndata: [DONE]\n`,
      },
    ],
    [
      "a stream as a list",
      { request: ask, response: [{ done: false }, { usage }, { done: true }] },
    ],
  ])("%s", async (name, line) => {
    const request = await only(line);
    expect(request?.messages).toEqual(HELLO);
    const told = !["a bare body", "a batch file's line"].includes(name);
    expect(request).toMatchObject({
      prompt_tokens: told ? 12 : null,
      output_tokens: told ? 3 : null,
    });
  });

  it("a prompt without messages", async () => {
    expect((await only({ model: "m", system: "be brief", prompt: "hello" }))?.messages).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "hello" },
    ]);
  });

  it("a transcript: one request for each of its answers", async () => {
    const said = (role: string, content: string) => ({ role, content });
    const path = logFile([
      {
        messages: [
          said("system", "s"),
          said("user", "1"),
          said("assistant", "one"),
          said("user", "2"),
          said("assistant", "two"),
        ],
        usage,
      },
      {
        conversations: [
          { from: "human", value: "3" },
          { from: "gpt", value: "three" },
        ],
      },
    ]);
    const { requests } = await readRequestLogs([path]);
    expect(requests.map(({ messages }) => messages.map(({ content }) => content))).toEqual([
      ["s", "1"],
      ["s", "1", "one", "2"],
      ["3"],
    ]);
    expect(requests.map(({ prompt_tokens }) => prompt_tokens)).toEqual([null, 12, null]);
  });
});

describe("messages", () => {
  it("of both interfaces come out the same, but for what only one of them has", async () => {
    const read = { name: "read", arguments: '{"path":"a"}' };
    const openai = await only({
      messages: [
        { role: "developer", content: "s" },
        {
          role: "user",
          content: [
            { type: "text", text: "he" },
            { type: "text", text: "llo" },
          ],
        },
        { role: "assistant", content: null, tool_calls: [{ id: "c1", function: read }] },
        { role: "tool", tool_call_id: "c1", content: "text" },
      ],
      tools: [{ type: "function", function: { name: "read" } }],
    });
    expect(openai?.messages).toEqual([
      { role: "system", content: "s" },
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", name: "read", arguments_text: '{"path":"a"}' }],
      },
      { role: "tool", tool_call_id: "c1", content: "text" },
    ]);
    expect(openai?.tools).toEqual([{ type: "function", function: { name: "read" } }]);
    const ollama = await only({
      messages: [
        { role: "user", content: "hello" },
        {
          role: "assistant",
          tool_calls: [{ function: { name: "read", arguments: { path: "a" } } }],
        },
        { role: "tool", tool_name: "read", content: "text" },
      ],
    });
    expect(ollama?.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: "",
        tool_calls: [{ name: "read", arguments_text: '{"path":"a"}' }],
      },
      { role: "tool", tool_name: "read", content: "text" },
    ]);
  });

  it("of the old function interface are tools, too", async () => {
    const request = await only({
      messages: [
        { role: "user", content: "hello" },
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "f", content: "1" },
      ],
      functions: [{ name: "f" }],
    });
    expect(request?.tools).toEqual([{ type: "function", function: { name: "f" } }]);
    expect(request?.messages[1]?.tool_calls).toEqual([{ name: "f", arguments_text: "{}" }]);
    expect(request?.messages[2]).toEqual({ role: "tool", content: "1", tool_name: "f" });
  });
});

describe("a log with trouble in it", () => {
  it("names each line that looks like a chat and is none, and reads the others", async () => {
    const path = logFile([
      ask,
      "",
      "{ half a line",
      { messages: [{ role: "alien", content: "x" }] },
      { messages: [{ role: "user", content: 7 }] },
      { messages: [{ role: "assistant", content: "x" }] },
      { level: "info", msg: "listening" },
    ]);
    const { requests, warnings, notes } = await readRequestLogs([path]);
    expect(requests).toHaveLength(1);
    expect(warnings).toEqual([
      `${path}:3: not JSON (13 characters)`,
      `${path}:4: messages[0] has no role that is known ("alien")`,
      `${path}:5: messages[0] content is neither text nor a list of parts`,
      `${path}:6: messages hold nothing from a user`,
    ]);
    expect(notes).toEqual(["4 lines of the log were unreadable"]);
  });

  it("shows the first faults and counts the rest", async () => {
    const { warnings } = await readRequestLogs([logFile([ask, ...Array<string>(30).fill("{")])]);
    expect(warnings).toHaveLength(6);
    expect(warnings[5]).toBe("and 25 more lines like these");
  });

  it("leaves out what cannot be replayed and notes it, without a path or a text", async () => {
    const picture = { type: "image_url", image_url: { url: "data:..." } };
    const path = logFile([
      ask,
      { ...ask, model: "other" },
      { messages: [{ role: "user", content: [picture] }] },
      { messages: [{ role: "user", content: "see", images: ["aGk="] }] },
    ]);
    const { requests, notes } = await readRequestLogs([path]);
    expect(requests).toHaveLength(2);
    expect(notes).toEqual([
      "2 requests of the log were left out: images or other parts that are not text",
      "the log has requests to 2 models, each of which counts its own tokens",
    ]);
  });

  it.each([
    ["without a chat", [{ input: [1, 2], model: "embed" }], /no chat request[^]*1 lines hold no/],
    ["without a line", [""], /no chat request in it \(no lines\)/],
    ["of broken lines", ["{"], /log\.jsonl:1: not JSON/],
  ])("is refused %s, saying what was looked for", async (_, lines, message) => {
    await expect(readRequestLogs([logFile(lines)])).rejects.toThrow(
      expect.objectContaining({
        exitCode: 64,
        message: expect.stringMatching(message),
        hint: expect.stringContaining('"messages"'),
      }),
    );
  });

  it("is refused by its name where it cannot be read", async () => {
    await expect(readRequestLogs(["/nowhere/log.jsonl"])).rejects.toThrow(
      /\/nowhere\/log\.jsonl: cannot read this request log \(ENOENT\)/,
    );
    await expect(readRequestLogs([tempDir()])).rejects.toThrow(/EISDIR/);
  });

  it("may begin with a byte order mark and have Windows line ends", async () => {
    const path = logFile([`\uFEFF${JSON.stringify(ask)}\r\n${JSON.stringify(ask)}\r`]);
    const { requests, warnings } = await readRequestLogs([path]);
    expect([requests.length, warnings.length]).toEqual([2, 0]);
  });
});
