import { createServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import type {
  GenerateLimits,
  GenerateProgress,
  GenerateResult,
} from "../../../src/runners/index.ts";
import { nextLimit } from "../../../src/runners/limits.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { ending, fakeOpenAi, piece, sse, streamed } from "../../helpers/fake-openai.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { fakeOllama } from "../../helpers/fake-ollama.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";
import { waitFor } from "../../helpers/wait.ts";

const LIMITS: GenerateLimits = { connect_s: 10, first_token_s: 100, stall_s: 20, total_s: 1000 };

test("the limit that counts is the one of the phase, unless the total comes first", () => {
  const at = (state: Parameters<typeof nextLimit>[1], limits = LIMITS) => {
    const next = nextLimit(limits, state);
    return [next.at_s, next.fault().class];
  };
  expect(at({ connected: false, begun: false, life_s: 0 })).toEqual([10, "connect_timeout"]);
  expect(at({ connected: true, begun: false, life_s: 0 })).toEqual([100, "first_token_timeout"]);
  expect(at({ connected: true, begun: false, life_s: 70 })).toEqual([170, "first_token_timeout"]);
  expect(at({ connected: true, begun: true, life_s: 200 })).toEqual([220, "stall_timeout"]);
  expect(at({ connected: true, begun: true, life_s: 990 })).toEqual([1000, "total_timeout"]);
  expect(at({ connected: true, begun: true, life_s: 990 }, { ...LIMITS, total_s: null })).toEqual([
    1010,
    "stall_timeout",
  ]);
});

interface Held {
  clock: FakeClock;
  result: Promise<GenerateResult>;
  progress: GenerateProgress[];
  release: () => void;
  requests: number;
}

/** A server that sends `before`, then holds until released, then answers well. */
async function held(before: readonly string[], limits = LIMITS): Promise<Held> {
  const clock = new FakeClock();
  const { promise: gate, resolve: release } = Promise.withResolvers<void>();
  const server = await fakeOpenAi({
    chat: () =>
      streamed([
        ...before.map((write) => ({ write })),
        { until: gate },
        { write: piece({ content: "late" }) },
        ...ending(),
      ]),
  });
  onTestFinished(() => release());
  const progress: GenerateProgress[] = [];
  const result = attach("openai", server.url, { clock }).generate(
    chatRequest({ limits, onProgress: (step) => progress.push(step) }),
  );
  await waitFor("the request", () => server.requests.length === 1);
  if (before.some((text) => text.startsWith("data:"))) {
    await waitFor("what is sent first", () => progress.length > 0);
  }
  return { clock, result, progress, release, requests: server.requests.length };
}

test("a server that accepts and never answers runs into the limit on the first token", async () => {
  const { clock, result } = await held([]);
  clock.advance(100_000);
  expect(await result).toMatchObject({
    ok: false,
    fault: { class: "first_token_timeout", retryable: true },
    timing: { first_content_s: null, e2e_s: 100 },
  });
});

test("a load of ten minutes is no fault: nothing limits it but the caller", async () => {
  const { clock, result, release } = await held([], {
    ...LIMITS,
    first_token_s: 3600,
    total_s: null,
  });
  for (let minute = 0; minute < 10; minute += 1) clock.advance(60_000);
  release();
  const answered = await result;
  expect(answered).toMatchObject({ ok: true, text: "late" });
  expect(answered.timing.first_content_s).toBeGreaterThanOrEqual(600);
});

test("prompt progress starts the limit on the first token again, pings do not", async () => {
  const clock = new FakeClock();
  const gates = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const progressPiece = sse({ choices: [], prompt_progress: { total: 100, processed: 50 } });
  const server = await fakeLlamaServer({
    chat: () =>
      streamed([
        { until: gates[0]?.promise ?? Promise.resolve() },
        { write: progressPiece },
        { until: gates[1]?.promise ?? Promise.resolve() },
        { write: ": ping\n\n" },
        { until: gates[2]?.promise ?? Promise.resolve() },
      ]),
  });
  onTestFinished(() => gates.forEach((gate) => gate.resolve()));
  const progress: GenerateProgress[] = [];
  const result = attach("llama-server", server.url, { clock }).generate(
    chatRequest({ limits: LIMITS, onProgress: (step) => progress.push(step) }),
  );
  await waitFor("the request", () => server.requests.length === 1);
  clock.advance(90_000);
  gates[0]?.resolve();
  await waitFor("progress", () => progress.length === 1);
  expect(progress[0]).toMatchObject({ phase: "prefill", prompt_share: 0.5 });
  clock.advance(90_000); // 180 s after sending, 90 s after the progress
  gates[1]?.resolve();
  clock.advance(9_000);
  expect(progress).toHaveLength(1);
  clock.advance(1_000);
  expect(await result).toMatchObject({
    fault: { class: "first_token_timeout" },
    timing: { e2e_s: 190 },
  });
});

test("silence in mid-answer has its own limit and leaves what was said", async () => {
  const { clock, result, progress } = await held([piece({ content: "a" })]);
  expect(progress).toMatchObject([{ phase: "answer" }]);
  clock.advance(20_000);
  expect(await result).toMatchObject({ text: "a", fault: { class: "stall_timeout" } });
});

test("thinking is an answer that has begun", async () => {
  const { clock, result, progress } = await held([piece({ reasoning_content: "hm" })]);
  expect(progress).toMatchObject([{ phase: "reasoning" }]);
  clock.advance(20_000);
  expect(await result).toMatchObject({ reasoning_text: "hm", fault: { class: "stall_timeout" } });
});

test("the total is a limit of its own", async () => {
  const { clock, result } = await held([piece({ content: "a" })], { ...LIMITS, total_s: 5 });
  clock.advance(5_000);
  expect(await result).toMatchObject({ text: "a", fault: { class: "total_timeout" } });
});

test("a connection that never comes about is its own fault", async () => {
  // The system accepts TCP for us; TLS waits for a greeting that never comes.
  const server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connected = new Promise((resolve) => server.once("connection", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const clock = new FakeClock();
  const result = attach("openai", url, { clock }).generate(chatRequest({ limits: LIMITS }));
  await connected;
  clock.advance(10_000);
  expect(await result).toMatchObject({ fault: { class: "connect_timeout" } });
});

test("cancelling ends the request at once, before, during and without an answer", async () => {
  const server = await fakeOpenAi({
    chat: () => streamed([{ write: piece({ content: "a" }) }, { hang: true }]),
  });
  const runner = attach("openai", server.url);
  expect(await runner.generate(chatRequest({ signal: AbortSignal.abort() }))).toMatchObject({
    fault: { class: "cancelled" },
  });
  expect(server.requests).toHaveLength(0);
  const controller = new AbortController();
  const result = await runner.generate(
    chatRequest({ signal: controller.signal, onProgress: () => controller.abort() }),
  );
  expect(result).toMatchObject({ ok: false, text: "a", fault: { class: "cancelled" } });
});

test("nothing is asked twice: trouble is the caller's to try again", async () => {
  const server = await fakeOpenAi({ chat: () => ({ status: 500, body: { error: "no" } }) });
  await attach("openai", server.url).generate(chatRequest());
  expect(server.requests.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(1);
});

test("trouble of the caller's own progress function is the caller's", async () => {
  const server = await fakeOpenAi();
  const full = vi.fn<() => void>(() => {
    throw new Error("disk full");
  });
  const asked = attach("openai", server.url).generate(chatRequest({ onProgress: full }));
  await expect(asked).rejects.toThrow("disk full");
  expect(full).toHaveBeenCalledTimes(1);
});

test("a status question has a limit too", async () => {
  const clock = new FakeClock();
  const server = createServer((socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const connected = new Promise((resolve) => server.once("connection", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const status = attach("llama-server", url, { clock }).status();
  await connected;
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(5_000);
  expect(await status).toMatchObject({ reachable: false, reason: expect.stringMatching(/in 5 s/) });
});

test("Ollama may load for ten minutes", async () => {
  const clock = new FakeClock();
  const gate = Promise.withResolvers<undefined>();
  const server = await fakeOllama({ load: () => gate.promise });
  const loading = attach("ollama", server.url, { clock }).load("fake", { limit_s: 3600 });
  await waitFor("the request", () => server.requests.length === 1);
  clock.advance(600_000);
  gate.resolve(undefined);
  expect(await loading).toEqual({ outcome: "ok", fault: null, duration_s: 600 });
});
