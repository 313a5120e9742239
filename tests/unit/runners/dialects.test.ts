import { expect, test } from "vitest";
import { Answer, type Dialect } from "../../../src/runners/answer.ts";
import { chatBody, chatDialect } from "../../../src/runners/chat.ts";
import { lineFraming, sseFraming } from "../../../src/runners/framing.ts";
import { ollamaBody, ollamaDialect, sameOllamaModel } from "../../../src/runners/ollama-chat.ts";
import { fixture } from "../../helpers/fixtures.ts";
import { chatRequest } from "../../helpers/requests.ts";

function readAll(dialect: Dialect, bytes: Buffer): Answer {
  const answer = new Answer();
  let at_s = 0;
  const onMessage = (message: string): void => dialect.read(message, (at_s += 1), answer);
  const framing = dialect.framing === "sse" ? sseFraming(onMessage) : lineFraming(onMessage);
  framing.feed(bytes);
  framing.end();
  return answer;
}

function readMessages(dialect: Dialect, messages: readonly unknown[]): Answer {
  const answer = new Answer();
  messages.forEach((message, i) => {
    dialect.read(typeof message === "string" ? message : JSON.stringify(message), i + 1, answer);
  });
  return answer;
}

test.each(["04-new-chat-client-timeout.txt", "07-deb-chat-client-timeout.txt"])(
  "a recorded stream that the client left (%s) has text but neither finish reason nor end",
  (name) => {
    const answer = readAll(chatDialect, fixture(`runner/llama-server-stream/${name}`));
    expect(answer).toMatchObject({ finish_reason: null, ended: false, trouble: null });
    expect(answer.text).not.toBe("");
  },
);

test("an answer that never ends is trouble before it fills the memory", () => {
  const answer = new Answer();
  const long = "x".repeat(1 << 20);
  for (let i = 0; i < 600 && answer.trouble === null; i += 1) {
    answer.think(long, i);
    answer.say(long, i);
  }
  expect(answer.trouble).toMatchObject({ class: "bad_response" });
  expect(answer.text.length + answer.reasoning_text.length).toBeLessThanOrEqual(32 << 20);
});

const delta = (fields: object) => ({ choices: [{ delta: fields, finish_reason: null }] });

test("reasoning and answer are kept and timed apart, under both names", () => {
  for (const key of ["reasoning_content", "reasoning"]) {
    const answer = readMessages(chatDialect, [
      delta({ role: "assistant", content: null }),
      delta({ [key]: "hm" }),
      delta({ [key]: "m", content: "" }),
      delta({ content: "yes" }),
    ]);
    expect(answer).toMatchObject({
      text: "yes",
      reasoning_text: "hmm",
      first_reasoning_s: 2,
      last_reasoning_s: 3,
      first_content_s: 4,
      phase: "answer",
    });
  }
});

test("what a server does not tell stays null, and zero stays zero", () => {
  const silent = readMessages(chatDialect, [{ usage: { prompt_tokens: 3 } }]);
  expect(silent.usage).toEqual({
    prompt_tokens: 3,
    completion_tokens: null,
    reasoning_tokens: null,
    cached_tokens: null,
  });
  const cold = readMessages(chatDialect, [
    { usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } } },
  ]);
  expect(cold.usage.cached_tokens).toBe(0);
});

test("llama-server's timings and progress are read, whatever their order", () => {
  const answer = readMessages(chatDialect, [
    { prompt_progress: { total: 200, cache: 0, processed: 50, time_ms: 3 }, choices: [] },
    {
      usage: { prompt_tokens: 200, completion_tokens: 4 },
      timings: { prompt_ms: 1500, predicted_ms: 250, cache_n: 12 },
    },
    "[DONE]",
  ]);
  expect(answer).toMatchObject({
    prompt_share: 0.25,
    ended: true,
    server_timing: { prompt_s: 1.5, decode_s: 0.25, load_s: null, queue_s: null },
    usage: { cached_tokens: 12, prompt_tokens: 200 },
  });
});

test("an error object in the stream, and a message that is none, are trouble", () => {
  expect(
    readMessages(chatDialect, [{ error: { message: "gone", type: "server_error" } }]).trouble,
  ).toMatchObject({
    class: "runner_error",
    message: "gone",
  });
  expect(readMessages(chatDialect, ["{oops"]).trouble).toMatchObject({ class: "bad_response" });
  expect(readMessages(chatDialect, ["12"]).trouble).toMatchObject({ class: "bad_response" });
});

test("a pack's own keys win over ours but not over what makes the answer readable", () => {
  const body = chatBody(
    chatRequest({ extra_body: { temperature: 1, stream: false, model: "x", top_k: 3 } }),
    { return_progress: true },
  );
  expect(body).toMatchObject({
    temperature: 1,
    stream: true,
    model: "fake",
    top_k: 3,
    return_progress: true,
    stream_options: { include_usage: true },
  });
  expect(chatBody(chatRequest({ seed: null, max_tokens: null }))).not.toHaveProperty("seed");
  expect(chatBody(chatRequest({ seed: null, max_tokens: null }))).not.toHaveProperty("max_tokens");
});

test("Ollama's durations are nanoseconds, and the rest of the total is waiting", () => {
  const answer = readAll(
    ollamaDialect,
    Buffer.from(
      JSON.stringify(
        JSON.parse(fixture("runner/ollama-stream/03-docs-generate-final.json").toString()),
      ),
    ),
  );
  expect(answer.ended).toBe(true);
  expect(answer.usage).toMatchObject({
    prompt_tokens: 26,
    completion_tokens: 259,
    cached_tokens: null,
  });
  expect(answer.server_timing.load_s).toBeCloseTo(6.338, 3);
  expect(answer.server_timing.prompt_s).toBeCloseTo(0.13, 3);
  expect(answer.server_timing.decode_s).toBeCloseTo(4.233, 3);
  expect(answer.server_timing.queue_s).toBeCloseTo(0.0058, 3);
});

test("an end without counters leaves them unknown", () => {
  const text = fixture("runner/ollama-stream/04-docs-unload.json").toString();
  const answer = readMessages(ollamaDialect, [JSON.parse(text)]);
  expect(answer).toMatchObject({ ended: true, finish_reason: "unload" });
  expect(answer.usage.completion_tokens).toBeNull();
  expect(answer.server_timing.queue_s).toBeNull();
});

test("an error line after HTTP 200 ends the recorded Ollama stream", () => {
  const answer = readAll(
    ollamaDialect,
    fixture("runner/ollama-stream/06-docs-error-mid-stream.txt"),
  );
  expect(answer.ended).toBe(false);
  expect(answer.trouble).toMatchObject({
    class: "runner_error",
    message: "an error was encountered while running the model",
  });
});

test("Ollama's thinking comes before and apart from its answer", () => {
  const answer = readMessages(ollamaDialect, [
    { message: { thinking: "a" }, done: false },
    { message: { thinking: "", content: "b" }, done: false },
  ]);
  expect(answer).toMatchObject({
    text: "b",
    reasoning_text: "a",
    first_reasoning_s: 1,
    first_content_s: 2,
  });
});

test("Ollama gets every option by name, merged with the spec's own", () => {
  const body = ollamaBody(
    chatRequest({ extra_body: { think: false, options: { num_ctx: 8192, temperature: 0.5 } } }),
    "1h",
  );
  expect(body).toMatchObject({
    truncate: false,
    keep_alive: "1h",
    think: false,
    stream: true,
    options: { num_ctx: 8192, temperature: 0.5, seed: 1, num_predict: 16 },
  });
  expect(ollamaBody(chatRequest({ max_tokens: null }), "1h")).toMatchObject({
    options: { num_predict: -1 },
  });
});

test("a missing tag means latest, also behind a registry with a port", () => {
  expect(sameOllamaModel("llama3.2", "llama3.2:latest")).toBe(true);
  expect(sameOllamaModel("host:5000/a/b", "host:5000/a/b:latest")).toBe(true);
  expect(sameOllamaModel("llama3.2:1b", "llama3.2")).toBe(false);
});
