import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { startTree } from "../../../src/core/process.ts";
import { writeMadeModel } from "../../../src/models/index.ts";
import type { GenerateResult, Runner } from "../../../src/runners/index.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import {
  findLlamaServer,
  realKind,
  startRealServer,
  type RealServerOptions,
} from "../../helpers/llama-server.ts";
import { attach, chatRequest } from "../../helpers/requests.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { waitFor } from "../../helpers/wait.ts";

const kind = realKind();
const LIMITS = { connect_s: 60, first_token_s: 300, stall_s: 120, total_s: null };

async function serve(more: RealServerOptions = {}) {
  const started = await startRealServer(tempDir(), { kind, ...more });
  onTestFinished(() => started.stop());
  return started;
}

function attachTo(runner: Runner, clock: Clock): Runner {
  return attach(kind, runner.settings.url ?? "", { clock });
}

/** Moves time on until the request has ended: what is still on its way may come in between. */
async function passTime(clock: FakeClock, asked: Promise<GenerateResult>): Promise<GenerateResult> {
  const ended = new AbortController();
  void asked.finally(() => ended.abort());
  while (!ended.signal.aborted) {
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return asked;
}

describe(`a real ${kind}`, () => {
  test("that is killed in mid-answer cut the stream: what it said is kept, and not called an answer", async () => {
    const { runner, pid } = await serve({ context_length: 16_384 });
    let killed = false;
    const result = await runner.generate(
      chatRequest({
        model: "tiny",
        max_tokens: 16_000,
        onProgress: ({ phase }) => {
          if (phase !== "answer" || killed) return;
          killed = true;
          process.kill(pid, "SIGKILL");
        },
      }),
    );
    expect(result).toMatchObject({
      ok: false,
      finish_reason: null,
      fault: { class: "stream_cut", retryable: true },
    });
    expect(result.text).not.toBe("");
    expect(await runner.generate(chatRequest({ model: "tiny" }))).toMatchObject({
      fault: { class: "unreachable", retryable: true },
    });
  });

  test("that hangs in mid-answer runs into the limit on silence", async () => {
    const { runner, pid } = await serve({ context_length: 16_384 });
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    const clock = new FakeClock();
    const begun = Promise.withResolvers<void>();
    const asked = attachTo(runner, clock).generate(
      chatRequest({
        model: "tiny",
        max_tokens: 16_000,
        limits: LIMITS,
        onProgress: ({ phase }) => {
          if (phase !== "answer") return;
          process.kill(pid, "SIGSTOP");
          begun.resolve();
        },
      }),
    );
    await begun.promise;
    const result = await passTime(clock, asked);
    expect(result.fault).toMatchObject({ class: "stall_timeout", retryable: true });
    expect(result.text).not.toBe("");
  });

  test("that accepts and never answers runs into the limit on the first token", async () => {
    const { runner, pid } = await serve();
    onTestFinished(() => void process.kill(pid, "SIGCONT"));
    process.kill(pid, "SIGSTOP");
    const clock = new FakeClock();
    const asked = attachTo(runner, clock).generate(chatRequest({ model: "tiny", limits: LIMITS }));
    // The system itself completes the connection for a stopped process.
    expect((await passTime(clock, asked)).fault?.class).toMatch(/^(first_token|connect)_timeout$/);
  });

  test("refuses a prompt that is longer than its slot, with both numbers", async () => {
    const { runner } = await serve({ context_length: 512 });
    const content = "hello there ".repeat(2000);
    const result = await runner.generate(
      chatRequest({ model: "tiny", messages: [{ role: "user", content }] }),
    );
    expect(result.fault).toMatchObject({
      class: "context_exceeded",
      retryable: false,
      http_status: 400,
    });
    expect(result.fault?.message).toMatch(/\d{4} tokens.*512 tokens/);
  });

  test("whose context is full ends by length, and that is an answer", async () => {
    const { runner } = await serve({ context_length: 256 });
    const result = await runner.generate(chatRequest({ model: "tiny", max_tokens: null }));
    expect(result).toMatchObject({ ok: true, finish_reason: "length" });
    const { prompt_tokens, completion_tokens } = result.usage;
    expect((prompt_tokens ?? 0) + (completion_tokens ?? 0)).toBeGreaterThanOrEqual(255);
  });

  test("does not pass as another model, although llama-server answers to any name", async () => {
    const { runner } = await serve();
    expect(await runner.findFault("other")).toMatchObject({ class: "model_not_found" });
    const result = await runner.generate(chatRequest({ model: "other" }));
    expect(result.ok).toBe(false);
    expect(result.fault?.class).toBe(kind === "embedded" ? "model_not_found" : "wrong_model");
  });

  test("tells what it took from its cache", async () => {
    const { runner } = await serve();
    const content = "The same words as before. ".repeat(20);
    const ask = () =>
      runner.generate(chatRequest({ model: "tiny", messages: [{ role: "user", content }] }));
    const [cold, warm] = [await ask(), await ask()];
    expect(cold.usage.cached_tokens).toBe(0);
    expect(warm.usage.cached_tokens).toBeGreaterThan(20);
    expect(warm.usage.prompt_tokens).toBe(cold.usage.prompt_tokens);
    expect(cold.server_timing.prompt_s).toBeGreaterThan(0);
  });

  test.each(onlyIf(kind === "llama-server"))(
    "is away, then loading, then there, and never the other way round",
    async () => {
      const dir = tempDir();
      const model_file = join(dir, "bigger.gguf");
      writeMadeModel(model_file, { dim: 512, layers: 8, heads: 8, kv_heads: 4, type: "f32" });
      const place = await fakeServer(() => undefined);
      await place.close(); // its port is free now
      const args = ["-m", model_file, "--port", String(place.port), "--alias", "bigger", "-t", "1"];
      const none = "ignore" as const;
      const tree = startTree(
        {
          file: findLlamaServer() ?? "",
          args,
          token: ulidSource(systemClock)(),
          stdin: none,
          stdout: none,
          stderr: none,
        },
        systemClock,
      );
      onTestFinished(async () => void (await tree.end(5)));
      const runner = attach("llama-server", place.url);
      const seen: string[] = [];
      await waitFor("the server to be there", async () => {
        const { reachable, loading } = await runner.status();
        seen.push(loading ? "loading" : reachable ? "there" : "away");
        return seen.at(-1) === "there";
      });
      expect([...new Set(seen)]).toEqual(
        ["away", "loading", "there"].filter((state) => seen.includes(state)),
      );
      expect(seen.join(" ")).toMatch(/^(away )*(loading )*there$/);
    },
  );
});
