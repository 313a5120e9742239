import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GenerateResult } from "../../../src/runners/index.ts";
import { fakeServer, type Reply, type Step } from "../../helpers/fake-http.ts";
import { ending, fakeOpenAi, piece, sse, streamed, usagePiece } from "../../helpers/fake-openai.ts";
import {
  fakeOllama,
  line,
  ollamaFinal,
  ollamaPiece,
  ollamaStream,
} from "../../helpers/fake-ollama.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";

const HELLO = { write: piece({ content: "Hello" }) };
const OLLAMA_HELLO = { write: ollamaPiece({ content: "Hello" }) };

async function askOpenAi(reply: Reply): Promise<GenerateResult> {
  const server = await fakeOpenAi({ chat: () => reply });
  return attach("openai", server.url).generate(chatRequest());
}

async function askOllama(steps: readonly Step[]): Promise<GenerateResult> {
  const server = await fakeOllama({ chat: () => ollamaStream(steps) });
  return attach("ollama", server.url).generate(chatRequest());
}

describe("an OpenAI-style stream", () => {
  test("is answered with a finish reason and [DONE], pings and CRLF or not", async () => {
    const crlf = piece({ content: " world" }).replaceAll("\n", "\r\n");
    const result = await askOpenAi(
      streamed([
        { write: ": ping\n\n" },
        HELLO,
        { write: ": ping\r\n\r\n" },
        { write: crlf },
        ...ending(),
      ]),
    );
    expect(result).toMatchObject({ ok: true, text: "Hello world", finish_reason: "stop" });
  });

  test("is read rightly with cuts inside an event and inside a character", async () => {
    const bytes = Buffer.from(piece({ content: "süß 你好 🙂" }));
    const middle = bytes.indexOf("🙂") + 2;
    const result = await askOpenAi(
      streamed([
        { write: bytes.subarray(0, 9) },
        { write: bytes.subarray(9, middle) },
        { write: bytes.subarray(middle) },
        ...ending(),
      ]),
    );
    expect(result).toMatchObject({ ok: true, text: "süß 你好 🙂" });
  });

  test("that stays open after [DONE] is over at [DONE]", async () => {
    const result = await askOpenAi(streamed([HELLO, ...ending(), { hang: true }]));
    expect(result.ok).toBe(true);
  });

  const finish = { write: piece({ finish_reason: "stop" }) };
  const done = { write: sse("[DONE]") };
  test.each<[string, readonly Step[], string]>([
    ["is cut in mid-answer", [HELLO, { cut: true }], "stream_cut"],
    ["is cut between its finish reason and [DONE]", [HELLO, finish, { cut: true }], "stream_cut"],
    ["ends without [DONE]", [HELLO, finish], "stream_cut"],
    ["ends without finish reason and [DONE]", [HELLO], "no_final"],
    ["has [DONE] but no finish reason", [HELLO, done], "no_final"],
    ["has nothing in it", [], "no_final"],
    ["gives up", [HELLO, { write: piece({ finish_reason: "abort" }) }, done], "runner_error"],
    ["is not JSON", [{ write: sse("{nonsense") }, ...ending()], "bad_response"],
    [
      "carries an error event",
      [HELLO, { write: sse({ error: { message: "out of memory", type: "server_error" } }) }, done],
      "runner_error",
    ],
    [
      "tells in an event that the prompt is too long",
      [{ write: sse({ error: { message: "x", type: "exceed_context_size_error" } }) }],
      "context_exceeded",
    ],
  ])("that %s is %s", async (_what, steps, expected) => {
    const result = await askOpenAi(streamed(steps));
    expect(result).toMatchObject({ ok: false, fault: { class: expected, http_status: 200 } });
    expect(result.text).toBe(steps.includes(HELLO) ? "Hello" : "");
  });

  test.each<[string, Reply, string, RegExp]>([
    [
      "a page",
      { headers: { "content-type": "text/html" }, body: "<h1>Hi</h1>" },
      "bad_response",
      /text\/html/,
    ],
    [
      "an error in a 200",
      { headers: { "content-type": "application/json" }, body: { error: { message: "no" } } },
      "runner_error",
      /^no$/,
    ],
    [
      "a whole answer",
      { headers: { "content-type": "application/json" }, body: { choices: [] } },
      "bad_response",
      /stream/,
    ],
    [
      "a packed stream",
      {
        headers: { "content-encoding": "gzip", "content-type": "text/event-stream" },
        body: gzipSync("x"),
      },
      "bad_response",
      /gzip/,
    ],
    [
      "a redirect",
      { status: 307, headers: { location: "http://b/" } },
      "http_error",
      /http:\/\/b\//,
    ],
    [
      "LM Studio's plain error",
      {
        status: 400,
        body: { error: "Trying to keep the first 9000 tokens when context the overflows." },
      },
      "context_exceeded",
      /9000/,
    ],
    [
      "a queue that is full",
      { status: 503, body: { error: "server busy" } },
      "busy",
      /server busy/,
    ],
  ])("answered by %s is a fault", async (_what, reply, expected, message) => {
    const result = await askOpenAi(reply);
    expect(result).toMatchObject({ ok: false, fault: { class: expected } });
    expect(result.fault?.message).toMatch(message);
    expect(result.timing.first_content_s).toBeNull();
  });

  test("whose prompt count is below its number of words was cut", async () => {
    const prompt = "word ".repeat(500);
    const server = await fakeOpenAi({
      chat: () => streamed([HELLO, ...ending({ prompt_tokens: 499 })]),
    });
    const request = chatRequest({ messages: [{ role: "user", content: prompt }] });
    const result = await attach("openai", server.url).generate(request);
    expect(result.fault).toMatchObject({ class: "prompt_truncated", retryable: false });
    expect(result.fault?.message).toMatch(/499 tokens .* 500 words/);
  });

  test("that repeats the key does not bring it into a bundle", async () => {
    const server = await fakeOpenAi({
      chat: () => ({
        status: 401,
        body: { error: { message: "Incorrect key: sk-\u001B[1msecret" } },
      }),
    });
    const runner = attach("openai", server.url, { api_key: "secret" });
    const { fault } = await runner.generate(chatRequest());
    expect(fault?.message).toBe("HTTP 401: Incorrect key: sk- [1m***");
    const list = await fakeServer(() => ({ status: 403, body: { error: "secret is no key" } }));
    const status = await attach("openai", list.url, { api_key: "secret" }).status();
    expect(status.reason).toBe("HTTP 403: *** is no key");
  });

  test("whose prompt has no tokens, or less, was not counted", async () => {
    for (const prompt_tokens of [0, -1]) {
      const steps = [HELLO, ...ending({ prompt_tokens, completion_tokens: -5 })];
      const result = await askOpenAi(streamed(steps));
      expect(result).toMatchObject({ ok: true, usage: { completion_tokens: null } });
    }
  });

  test("whose prompt count is not told counts as whole", async () => {
    const result = await askOpenAi(
      streamed([HELLO, { write: piece({ finish_reason: "length" }) }, { write: sse("[DONE]") }]),
    );
    expect(result).toMatchObject({ ok: true, finish_reason: "length" });
    expect(result.usage).toEqual({
      prompt_tokens: null,
      completion_tokens: null,
      reasoning_tokens: null,
      cached_tokens: null,
    });
  });

  test("tells cached and reasoning tokens where the server does", async () => {
    const usage = usagePiece({ cached_tokens: 0, reasoning_tokens: 7 });
    const result = await askOpenAi(
      streamed([
        HELLO,
        { write: piece({ finish_reason: "stop" }) },
        { write: usage },
        { write: sse("[DONE]") },
      ]),
    );
    expect(result.usage).toMatchObject({ cached_tokens: 0, reasoning_tokens: 7 });
  });

  test("that only thought has no time of first content", async () => {
    const result = await askOpenAi(
      streamed([{ write: piece({ reasoning_content: "hm" }) }, ...ending()]),
    );
    expect(result).toMatchObject({ ok: true, text: "", reasoning_text: "hm" });
    expect(result.timing.first_content_s).toBeNull();
    expect(result.timing.first_reasoning_s).not.toBeNull();
  });
});

describe("an Ollama stream", () => {
  test("is answered with done:true", async () => {
    const result = await askOllama([OLLAMA_HELLO, { write: ollamaFinal() }]);
    expect(result).toMatchObject({ ok: true, text: "Hello", finish_reason: "stop" });
    expect(result.server_timing).toEqual({ load_s: 1, prompt_s: 2, decode_s: 1.5, queue_s: 0.5 });
  });

  test("whose last line has no line end is whole", async () => {
    const result = await askOllama([OLLAMA_HELLO, { write: ollamaFinal().trimEnd() }]);
    expect(result.ok).toBe(true);
  });

  test.each<[string, readonly Step[], string]>([
    ["ends without a final object", [OLLAMA_HELLO], "no_final"],
    [
      "has an empty done_reason",
      [OLLAMA_HELLO, { write: ollamaFinal({ done_reason: "" }) }],
      "no_final",
    ],
    ["is cut", [OLLAMA_HELLO, { cut: true }], "stream_cut"],
    [
      "ends with an error line",
      [OLLAMA_HELLO, { write: line({ error: "runner has unexpectedly stopped" }) }],
      "runner_error",
    ],
    [
      "is cut short in its prompt",
      [OLLAMA_HELLO, { write: ollamaFinal({ prompt_eval_count: 1 }) }],
      "prompt_truncated",
    ],
    ["names another model", [OLLAMA_HELLO, { write: ollamaFinal() }, { write: "" }], "wrong_model"],
  ])("that %s is %s", async (what, steps, expected) => {
    const wrong = what.startsWith("names")
      ? [{ write: ollamaPiece({ content: "Hello" }, "other") }]
      : [];
    const result = await askOllama([
      ...wrong,
      ...steps.filter((step) => !("write" in step) || step.write !== ""),
    ]);
    expect(result).toMatchObject({ ok: false, fault: { class: expected } });
    expect(result.text).toContain("Hello");
  });
});

async function rawServer(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

describe("without a server", () => {
  test("a refused connection is unreachable and may be tried again", async () => {
    const server = await fakeOpenAi();
    await server.close();
    const result = await attach("openai", server.url).generate(chatRequest());
    expect(result).toMatchObject({
      ok: false,
      fault: { class: "unreachable", retryable: true, http_status: null },
      timing: { first_byte_s: null, first_content_s: null },
    });
    expect(result.fault?.message).toMatch(/connection refused/);
  });

  test("a connection that is reset before any byte is unreachable", async () => {
    const url = await rawServer((socket) => socket.destroy());
    const result = await attach("openai", url).generate(chatRequest());
    expect(result.fault?.class).toBe("unreachable");
  });

  test("a server that does not speak HTTP is said to do so", async () => {
    const url = await rawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n"));
    const result = await attach("openai", url).generate(chatRequest());
    expect(result.fault).toMatchObject({ class: "bad_response", retryable: false });
  });

  test("an unframed body that the connection's end closes cannot pass for a whole one", async () => {
    const url = await rawServer((socket) => {
      socket.once("data", () => {
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${piece({ content: "Hi" })}`,
        );
      });
    });
    const result = await attach("openai", url).generate(chatRequest());
    expect(result).toMatchObject({ ok: false, text: "Hi", fault: { class: "stream_cut" } });
  });
});
