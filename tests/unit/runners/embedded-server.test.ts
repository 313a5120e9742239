import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import {
  BadGrammar,
  ContextExceeded,
  type Engine,
  type EngineJob,
  type EngineResult,
  type EngineState,
} from "../../../src/runners/embedded/engine.ts";
import { embeddedServer } from "../../../src/runners/embedded/server.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";
import { waitFor } from "../../helpers/wait.ts";

const RESULT: EngineResult = {
  finish_reason: "stop",
  prompt_tokens: 10,
  cached_tokens: 4,
  completion_tokens: 2,
  prompt_ms: 1500,
  predicted_ms: 500,
};

class FakeEngine implements Engine {
  state: EngineState = "loaded";
  readonly version = "fake 1";
  readonly facts = { size_bytes: 9, quantization: null, train_context: 4096 };
  readonly jobs: EngineJob[] = [];
  work: (job: EngineJob) => Promise<EngineResult> = async (job) => {
    job.onPrompt({ total: 10, cache: 4, processed: 4, time_ms: 1 });
    job.onText("Hello");
    job.onText("");
    job.onText(" world");
    return RESULT;
  };

  busy(): boolean[] {
    return [true, false];
  }
  async load(): Promise<void> {
    this.state = "loaded";
  }
  async unload(): Promise<void> {
    this.state = "unloaded";
  }
  generate(job: EngineJob): Promise<EngineResult> {
    this.jobs.push(job);
    return this.work(job);
  }
}

async function served(engine: FakeEngine): Promise<string> {
  const server = embeddedServer({
    engine,
    model_id: "m",
    model_file: "/models/m.gguf",
    slots: 2,
    slot_context: 256,
    clock: systemClock,
    new_id: ulidSource(systemClock),
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function post(url: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url, { method: "POST", body: text });
  return { status: response.status, body: await response.json() };
}

const get = async (url: string): Promise<unknown> => (await fetch(url)).json();

test("says of itself what llama-server says", async () => {
  const url = await served(new FakeEngine());
  expect(await get(`${url}/health`)).toEqual({ status: "ok" });
  expect(await get(`${url}/props`)).toMatchObject({
    total_slots: 2,
    default_generation_settings: { n_ctx: 256 },
    build_info: "fake 1",
  });
  expect(await get(`${url}/slots`)).toEqual([
    { id: 0, n_ctx: 256, is_processing: true },
    { id: 1, n_ctx: 256, is_processing: false },
  ]);
  expect(await get(`${url}/v1/models`)).toMatchObject({
    data: [{ id: "m", status: { value: "loaded" }, meta: { n_ctx: 256, size: 9 } }],
  });
  const missing = await fetch(`${url}/nothing`);
  expect(missing.status).toBe(404);
});

test("streams an answer that our own client takes for whole", async () => {
  const engine = new FakeEngine();
  const runner = attach("embedded", await served(engine));
  const result = await runner.generate(chatRequest({ model: "m", max_tokens: 5, seed: 3 }));
  expect(result).toMatchObject({
    ok: true,
    text: "Hello world",
    finish_reason: "stop",
    answered_model: "m",
    usage: { prompt_tokens: 10, completion_tokens: 2, cached_tokens: 4, reasoning_tokens: null },
    server_timing: { prompt_s: 1.5, decode_s: 0.5 },
  });
  expect(engine.jobs[0]).toMatchObject({
    max_tokens: 5,
    cache_prompt: true,
    sampling: { temperature: 0, seed: 3, topK: 40 },
  });
});

test("answers whole where no stream is asked for", async () => {
  const url = await served(new FakeEngine());
  const answer = await post(`${url}/v1/chat/completions`, {
    messages: [{ role: "user", content: "hi" }],
    cache_prompt: false,
  });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      choices: [{ finish_reason: "stop", message: { content: "Hello world" } }],
      usage: { total_tokens: 12 },
      timings: { prompt_n: 6, predicted_n: 2 },
    },
  });
});

test.each([
  ["{oops", 400, "invalid_request_error"],
  [{ messages: [] }, 400, "invalid_request_error"],
  [{ messages: [{ role: "robot", content: "x" }] }, 400, "invalid_request_error"],
  [{ messages: [{ role: "user", content: 5 }] }, 400, "invalid_request_error"],
  [{ model: "other", messages: [{ role: "user", content: "x" }] }, 404, "not_found_error"],
])("refuses %j with %i", async (body, status, type) => {
  const url = await served(new FakeEngine());
  const answer = await post(`${url}/v1/chat/completions`, body);
  expect(answer).toMatchObject({ status, body: { error: { code: status, type } } });
});

test("says 503 to everything while it loads", async () => {
  const engine = new FakeEngine();
  engine.state = "loading";
  const url = await served(engine);
  expect((await fetch(`${url}/health`)).status).toBe(503);
  expect(await attach("embedded", url).status()).toMatchObject({ reachable: true, loading: true });
});

test("a grammar reaches the engine; one that is none is a 400", async () => {
  const engine = new FakeEngine();
  const url = await served(engine);
  const ask = { messages: [{ role: "user", content: "hi" }], grammar: 'root ::= "yes"' };
  expect((await post(`${url}/v1/chat/completions`, ask)).status).toBe(200);
  expect(engine.jobs[0]).toMatchObject({ grammar: 'root ::= "yes"' });
  engine.work = () => Promise.reject(new BadGrammar("the grammar cannot be used: no root"));
  expect(await post(`${url}/v1/chat/completions`, { ...ask, grammar: "?" })).toMatchObject({
    status: 400,
    body: { error: { message: "the grammar cannot be used: no root" } },
  });
});

test("a prompt that is too long is the 400 that llama-server gives", async () => {
  const engine = new FakeEngine();
  engine.work = () => Promise.reject(new ContextExceeded(999));
  const result = await attach("embedded", await served(engine)).generate(
    chatRequest({ model: "m" }),
  );
  expect(result.fault).toMatchObject({
    class: "context_exceeded",
    retryable: false,
    http_status: 400,
  });
  expect(result.fault?.message).toMatch(/999 tokens.*256 tokens/);
});

test("trouble before the first piece is a 500, after it an error event and no end mark", async () => {
  const engine = new FakeEngine();
  const runner = attach("embedded", await served(engine));
  engine.work = () => Promise.reject(new Error("no memory"));
  expect(await runner.generate(chatRequest({ model: "m" }))).toMatchObject({
    fault: { class: "http_error", message: "HTTP 500: no memory", retryable: true },
  });
  engine.work = async (job) => {
    job.onText("Hel");
    throw new Error("no memory");
  };
  expect(await runner.generate(chatRequest({ model: "m" }))).toMatchObject({
    text: "Hel",
    fault: { class: "runner_error", message: "no memory" },
  });
});

test("a client that leaves stops the work", async () => {
  const engine = new FakeEngine();
  const seen: boolean[] = [];
  engine.work = (job) =>
    new Promise((_resolve, reject) => {
      job.onText("a");
      job.signal.addEventListener("abort", () => {
        seen.push(true);
        reject(new Error("left"));
      });
    });
  const controller = new AbortController();
  const runner = attach("embedded", await served(engine));
  const request = chatRequest({
    model: "m",
    signal: controller.signal,
    onProgress: () => controller.abort(),
  });
  expect(await runner.generate(request)).toMatchObject({ fault: { class: "cancelled" } });
  await waitFor("the engine to hear of it", () => seen.length === 1);
});

test("lets go of its model and takes it up again", async () => {
  const engine = new FakeEngine();
  const runner = attach("embedded", await served(engine));
  expect(runner.residency).toBe("managed");
  expect(await runner.unload()).toEqual({ outcome: "ok", reason: null });
  expect(await runner.loaded()).toEqual({ models: [], reason: null });
  expect(engine.state).toBe("unloaded");
  expect(await runner.findFault("m")).toBeNull();
  expect(await runner.load("m", { limit_s: 5 })).toMatchObject({ outcome: "ok" });
  expect(await runner.loaded()).toEqual({ models: ["m"], reason: null });
  expect(await runner.load("x", { limit_s: 5 })).toMatchObject({ outcome: "failed" });
  expect(await runner.unload("x")).toMatchObject({ outcome: "failed" });
});
