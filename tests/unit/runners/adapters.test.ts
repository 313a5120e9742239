import { describe, expect, test } from "vitest";
import { connectRunner, RUNNER_KINDS } from "../../../src/runners/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { fakeOllama } from "../../helpers/fake-ollama.ts";
import { fakeOpenAi, goodChat } from "../../helpers/fake-openai.ts";
import { jsonFixture } from "../../helpers/fixtures.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";

/** Each look costs ten minutes; after the first the model is there. */
function slowly(clock: FakeClock, server: { loading: boolean }) {
  return {
    now_ms: () => clock.now_ms(),
    monotonic_ms: () => clock.monotonic_ms(),
    sleep: async (duration_ms: number, signal?: AbortSignal) => {
      if (duration_ms > 1000) {
        // The limit of a single question: it stays in the future.
        await new Promise<void>((resolve) => {
          signal?.addEventListener("abort", () => resolve(), { once: true });
        });
        return;
      }
      clock.advance(600_000);
      server.loading = false;
    },
  };
}

describe("llama-server", () => {
  test("tells version, slots, and the context that one slot really has", async () => {
    const server = await fakeLlamaServer({ slots: 3, slot_context: 512 });
    expect(await attach("llama-server", server.url, { declared_slots: 9 }).status()).toEqual({
      reachable: true,
      reason: null,
      loading: false,
      version: "b1-fake",
      slots: 3,
      slots_source: "runner",
      models: [
        {
          id: "fake",
          digest: null,
          size_bytes: 7,
          quantization: "F16",
          context_length: 512,
          loaded: true,
        },
      ],
    });
  });

  test("reads what a real one said", async () => {
    const server = await fakeServer(({ path }) => {
      if (path === "/v1/models")
        return { body: jsonFixture("runner/llama-server-models/01-new.json") };
      if (path === "/props")
        return { body: jsonFixture("runner/llama-server-props/01-new-np2.json") };
      return undefined;
    });
    const status = await attach("llama-server", server.url).status();
    expect(status).toMatchObject({ version: "b1-80fb11a", slots: 2, slots_source: "runner" });
    expect(status.models).toMatchObject([
      {
        id: "/models/tiny-f16.gguf",
        size_bytes: 7_480_320,
        quantization: "F16",
        context_length: 512,
      },
    ]);
  });

  test.each([
    ["03-deb-idle-two.json", 2],
    ["04-readme-two-slots.json", 2],
  ])("counts /slots (%s) where /props does not tell", async (name, slots) => {
    const server = await fakeServer(({ path }) => {
      if (path === "/v1/models") return { body: { data: [{ id: "m" }] } };
      if (path === "/slots") return { body: jsonFixture(`runner/llama-server-slots/${name}`) };
      return undefined;
    });
    const status = await attach("llama-server", server.url).status();
    expect(status).toMatchObject({ slots, slots_source: "runner", version: null });
  });

  test("that loads is reachable, and loading waits for it", async () => {
    const server = await fakeLlamaServer({ loading: true });
    const runner = attach("llama-server", server.url);
    expect(await runner.status()).toMatchObject({ reachable: true, loading: true, models: null });
    expect(await runner.findFault("fake")).toMatchObject({ class: "loading", retryable: true });
    expect(await runner.generate(chatRequest())).toMatchObject({
      ok: false,
      fault: { class: "loading", http_status: 503 },
    });
    const clock = new FakeClock({ jumpSleeps: true });
    const waiting = attach("llama-server", server.url, { clock: slowly(clock, server) });
    expect(await waiting.load("fake", { limit_s: 900 })).toMatchObject({
      outcome: "ok",
      fault: null,
    });
    expect(clock.monotonic_ms()).toBeGreaterThanOrEqual(600_000);
  });

  test("whose load takes longer than the limit fails with the reason", async () => {
    const server = await fakeLlamaServer({ loading: true });
    const result = await attach("llama-server", server.url).load("fake", { limit_s: 0.01 });
    expect(result).toMatchObject({ outcome: "failed", fault: { class: "loading" } });
    expect(result.fault?.message).toMatch(/waited 0.01 s/);
  });

  test("answers to any name, so the name is looked up before", async () => {
    const server = await fakeLlamaServer({ model: "a", aliases: ["a", "b"] });
    const runner = attach("llama-server", server.url);
    expect(await runner.findFault("a")).toBeNull();
    expect(await runner.findFault("b")).toBeNull();
    expect(await runner.findFault("c")).toMatchObject({
      class: "model_not_found",
      retryable: false,
    });
    expect((await runner.findFault("c"))?.message).toContain('"c"');
    expect((await runner.findFault("c"))?.message).toContain("it serves a");
  });

  test("answering in another model's name is a fault, in an alias it is none", async () => {
    const server = await fakeLlamaServer({ model: "a", aliases: ["a", "b"] });
    const runner = attach("llama-server", server.url);
    expect(await runner.generate(chatRequest({ model: "b" }))).toMatchObject({
      ok: true,
      answered_model: "a",
    });
    expect(await runner.generate(chatRequest({ model: "c" }))).toMatchObject({
      ok: false,
      text: "Hello world",
      fault: { class: "wrong_model", retryable: false },
    });
  });

  test("holds its model for good", async () => {
    const server = await fakeLlamaServer();
    const runner = attach("llama-server", server.url);
    expect(runner.residency).toBe("fixed");
    expect(await runner.unload()).toMatchObject({ outcome: "not_applicable" });
    expect(await runner.loaded()).toEqual({ models: ["fake"], reason: null });
    expect(await runner.load("other", { limit_s: 5 })).toMatchObject({
      outcome: "failed",
      fault: { class: "model_not_found" },
    });
  });

  test("is asked for prompt progress and usage, on a connection of its own, unpacked", async () => {
    const server = await fakeLlamaServer();
    await attach("llama-server", server.url, { api_key: "secret" }).generate(chatRequest());
    const [asked] = server.requests;
    expect(asked?.body).toMatchObject({
      return_progress: true,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      seed: 1,
      max_tokens: 16,
    });
    expect(asked?.headers).toMatchObject({
      connection: "close",
      "accept-encoding": "identity",
      authorization: "Bearer secret",
    });
  });
});

describe("openai", () => {
  test("has the slots that its owner declares, and says so", async () => {
    const server = await fakeOpenAi({ version: "0.11.0", models: ["a", "b"] });
    const status = await attach("openai", server.url, { declared_slots: 8 }).status();
    expect(status).toMatchObject({ version: "0.11.0", slots: 8, slots_source: "declared" });
    expect(status.models?.map(({ id, loaded }) => [id, loaded])).toEqual([
      ["a", null],
      ["b", null],
    ]);
    expect(status.models?.[0]?.context_length).toBe(4096);
    expect(await attach("openai", server.url).status()).toMatchObject({
      slots: null,
      slots_source: null,
    });
  });

  test("may be given with /v1 in its URL", async () => {
    const server = await fakeOpenAi();
    const runner = attach("openai", `${server.url}/v1/`);
    expect(await runner.findFault("fake")).toBeNull();
    expect(await runner.generate(chatRequest())).toMatchObject({ ok: true });
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/models", "/v1/chat/completions"]);
  });

  test("may answer with the dated name of the model", async () => {
    const server = await fakeOpenAi({ chat: () => goodChat("fake-2025-08-07") });
    expect(await attach("openai", server.url).generate(chatRequest())).toMatchObject({ ok: true });
  });

  test("that refuses the key is not reachable, with the reason", async () => {
    const server = await fakeServer(() => ({
      status: 401,
      body: { error: { message: "bad key" } },
    }));
    const status = await attach("openai", server.url, { api_key: "k" }).status();
    expect(status).toMatchObject({ reachable: false, reason: "HTTP 401: bad key" });
  });

  test("does not tell what is in memory and cannot let go of it", async () => {
    const server = await fakeOpenAi();
    const runner = attach("openai", server.url);
    expect(await runner.loaded()).toMatchObject({ models: null });
    expect(await runner.unload()).toMatchObject({ outcome: "not_applicable" });
    expect(await runner.load("fake", { limit_s: 5 })).toMatchObject({ outcome: "ok" });
    expect(await runner.load("nope", { limit_s: 5 })).toMatchObject({
      outcome: "failed",
      fault: { class: "model_not_found" },
    });
  });
});

describe("ollama", () => {
  test("tells models, digests, and the context of those that are loaded", async () => {
    const server = await fakeOllama({ models: ["a", "b:1b"] });
    const runner = attach("ollama", server.url);
    await runner.load("a", { limit_s: 5 });
    const status = await runner.status();
    expect(status).toMatchObject({ version: "0.30.1", slots: null, slots_source: null });
    expect(status.models).toMatchObject([
      { id: "a:latest", loaded: true, context_length: 4096, quantization: "Q4_K_M" },
      { id: "b:1b", loaded: false, context_length: null },
    ]);
  });

  test("reads what a real one said", async () => {
    const answers: Record<string, string> = {
      "/api/version": "runner/ollama-api-version/01-docs-0.5.1.json",
      "/api/tags": "runner/ollama-api-tags/01-docs-two.json",
      "/api/ps": "runner/ollama-api-ps/03-openapi-partial-vram-context.json",
    };
    const server = await fakeServer(({ path }) => {
      const file = answers[path];
      return file === undefined ? undefined : { body: jsonFixture(file) };
    });
    const runner = attach("ollama", server.url);
    const status = await runner.status();
    expect(status.version).toBe("0.5.1");
    expect(status.models?.map(({ id, size_bytes }) => [id, size_bytes])).toEqual([
      ["deepseek-r1:latest", 4_683_075_271],
      ["llama3.2:latest", 2_019_393_189],
    ]);
    expect(await runner.loaded()).toEqual({ models: ["gemma4"], reason: null });
    expect(await runner.findFault("llama3.2")).toBeNull();
  });

  test("loads with the options of the requests that follow, so that they load nothing again", async () => {
    const server = await fakeOllama();
    const runner = attach("ollama", server.url);
    const extra_body = { options: { num_ctx: 8192 }, think: true };
    expect(await runner.load("fake", { limit_s: 5, extra_body })).toMatchObject({ outcome: "ok" });
    expect(server.requests[0]?.body).toEqual({
      model: "fake",
      messages: [],
      stream: false,
      keep_alive: "1h",
      options: { num_ctx: 8192 },
    });
  });

  test("lets go of one model or of all, and waits until they are gone", async () => {
    const server = await fakeOllama({ models: ["a", "b"], unload_looks: 2 });
    const runner = attach("ollama", server.url, { clock: new FakeClockThatWaitsNot() });
    await runner.load("a", { limit_s: 5 });
    await runner.load("b", { limit_s: 5 });
    expect(await runner.unload("a")).toEqual({ outcome: "ok", reason: null });
    expect([...server.in_memory]).toEqual(["b:latest"]);
    await runner.load("a", { limit_s: 5 });
    expect(await runner.unload()).toEqual({ outcome: "ok", reason: null });
    expect(server.in_memory.size).toBe(0);
  });

  test("that never lets go is a failure with its reason", async () => {
    const server = await fakeOllama({ unload_looks: Infinity });
    const clock = new FakeClockThatWaitsNot();
    const runner = attach("ollama", server.url, { clock });
    await runner.load("fake", { limit_s: 5 });
    const result = await runner.unload();
    expect(result.outcome).toBe("failed");
    expect(result.reason).toMatch(/still in memory \(waited 60 s\)/);
  });

  test("without the model says what it has", async () => {
    const server = await fakeOllama({ models: ["a"] });
    const runner = attach("ollama", server.url);
    expect(await runner.findFault("z")).toMatchObject({ class: "model_not_found" });
    expect(await runner.load("z", { limit_s: 5 })).toMatchObject({
      outcome: "failed",
      fault: { class: "model_not_found", retryable: false, http_status: 404 },
    });
    expect(await runner.generate(chatRequest({ model: "z" }))).toMatchObject({
      fault: { class: "model_not_found" },
    });
  });

  test("that is away is unreachable for every question", async () => {
    const server = await fakeOllama();
    await server.close();
    const runner = attach("ollama", server.url);
    expect(await runner.status()).toMatchObject({ reachable: false, loading: false });
    expect(await runner.findFault("fake")).toMatchObject({ class: "unreachable" });
    expect((await runner.loaded()).reason).toMatch(/refused/);
    expect(await runner.unload()).toMatchObject({ outcome: "failed" });
    expect(await runner.load("fake", { limit_s: 5 })).toMatchObject({ outcome: "failed" });
  });
});

/** Short waits between looks pass at once; the limit of one question never comes. */
class FakeClockThatWaitsNot extends FakeClock {
  override async sleep(duration_ms: number, signal?: AbortSignal): Promise<void> {
    if (duration_ms <= 1000) this.advance(duration_ms);
    else await super.sleep(duration_ms, signal);
  }
}

test("every kind has an adapter, and a bad URL is a configuration error that says how it looks", () => {
  const deps = { clock: new FakeClock() };
  const settings = { name: "r", api_key: null, start: null, declared_slots: null };
  for (const kind of RUNNER_KINDS) {
    expect(
      connectRunner({ ...settings, kind, url: "http://127.0.0.1:1" }, deps).settings.kind,
    ).toBe(kind);
    expect(() => connectRunner({ ...settings, kind, url: "ftp://x" }, deps)).toThrow(
      /"ftp:\/\/x" is not/,
    );
  }
  expect(() => connectRunner({ ...settings, kind: "embedded", url: null }, deps)).toThrow(/no url/);
});
