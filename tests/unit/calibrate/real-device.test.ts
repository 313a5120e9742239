import { QUIET_SERVER } from "../../helpers/quiet-readings.ts";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nonceText } from "../../../src/calibrate/cold.ts";
import type { DeviceStart } from "../../../src/calibrate/index.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { fakeOllama, ollamaFinal, ollamaPiece, ollamaStream } from "../../helpers/fake-ollama.ts";
import { ending, goodChat, piece, streamed } from "../../helpers/fake-openai.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { deviceOn, segment } from "./device-world.ts";

const SLOTS =
  "srv load_model: initializing, n_slots = 2, n_ctx_slot = 1024, kv_unified = 'false'\n";

function logWith(text: string): string {
  const path = join(tempDir(), "server.log");
  writeFileSync(path, text);
  return path;
}

const ASK = { slots: 2, context_per_slot: 1024 };

function measure(start: DeviceStart, more: { workers?: number; fillers?: string[] } = {}) {
  return start.measure({
    workers: more.workers ?? 2,
    segments: ["a", "b", "c", "d"].map((id) => segment(id, 2)),
    fillers: (more.fillers ?? []).map((id) => segment(id)),
    nonce: "block-1",
  });
}

test("a quiet period on a healthy server: everything is read, nothing is wrong", async () => {
  const server = await fakeLlamaServer();
  const { device, rows, stopped } = deviceOn({
    kind: "llama-server",
    url: server.url,
    log_path: logWith(SLOTS),
  });
  const start = await device.start(ASK);
  expect(start.record).toMatchObject({
    slots_asked: 2,
    loaded: true,
    failure: null,
    slots_read: 2,
    context_read: 1024,
    memory_at_rest_mb: 1000,
    memory_loaded_mb: 1000,
    gpus_loaded: [],
  });
  await start.warmUp(2);
  const period = await measure(start);
  expect(period).toMatchObject({ disturbed: null, lost: null, requests: 8 });
  expect(period.turns.map(({ turn_id }) => turn_id).sort()).toEqual([
    "a.0",
    "a.1",
    "b.0",
    "b.1",
    "c.0",
    "c.1",
    "d.0",
    "d.1",
  ]);
  expect(period.readings).toMatchObject({
    host_used_peak_mb: 1000,
    ...QUIET_SERVER,
  });
  expect(period.client.in_flight_share).toBeGreaterThan(0.5);
  expect(period.client.cpu_share).not.toBeNull();
  expect(rows).toHaveLength(8);
  expect(rows[0]).toMatchObject({ slots: 2, workers: 2, context_per_slot: 1024, ok: true });
  expect(JSON.stringify(rows)).not.toContain("prompt of");
  await start.stop();
  expect(stopped()).toBe(1);
});

test("every request has the same options; no prompt is cut, no cache is used", async () => {
  const server = await fakeLlamaServer();
  const tools = [{ type: "function" }];
  const { device } = deviceOn({ kind: "llama-server", url: server.url, tools });
  const start = await device.start(ASK);
  await measure(start);
  const bodies = server.requests.flatMap(({ path, body }) => (path.includes("chat") ? [body] : []));
  const texts = bodies.map((body) =>
    JSON.stringify(body, (key, value: unknown) => (key === "messages" ? [] : value)),
  );
  expect(new Set(texts).size).toBe(1);
  expect(bodies[0]).toMatchObject({
    temperature: 0,
    seed: 42,
    max_tokens: 16,
    cache_prompt: false,
    tools,
  });
});

test("Ollama's requests cut and shift nothing, keep the context, and begin with a nonce", async () => {
  const server = await fakeOllama();
  const { device } = deviceOn({
    kind: "ollama",
    url: server.url,
    cold: "nonce",
    log_path: logWith(SLOTS),
  });
  const start = await device.start(ASK);
  await start.warmUp(2);
  const period = await measure(start);
  // Two short requests prove that nothing of an earlier period is still at work.
  expect(period.requests).toBe(10);
  const bodies = server.requests.flatMap(({ path, body }) =>
    path === "/api/chat" ? [body ?? {}] : [],
  );
  const common = {
    truncate: false,
    shift: false,
    options: { num_ctx: 1024, temperature: 0, seed: 42 },
  };
  for (const body of bodies) expect(body).toMatchObject(common);
  const contents = bodies.map(({ messages }) => (messages as { content: string }[])[0]?.content);
  expect(contents).toContain(`${nonceText("block-1", "a.0", 0)}\nprompt of a.0`);
});

test.each([
  ["a start with fewer slots than asked", { slots: 1 }, "", { slots_read: 1, context_read: 1024 }],
  ["two doors that say different things", { slots: 4 }, SLOTS, { slots_read: 2 }],
  ["less context than asked", { slot_context: 512 }, SLOTS, { context_read: 512 }],
])("%s is read back", async (_, options, log, expected) => {
  const server = await fakeLlamaServer(options);
  const { device } = deviceOn({ kind: "llama-server", url: server.url, log_path: logWith(log) });
  expect((await device.start(ASK)).record).toMatchObject(expected);
});

test("an Ollama that does not log its slots has unknown slots", async () => {
  const server = await fakeOllama();
  const { device } = deviceOn({
    kind: "ollama",
    url: server.url,
    log_path: logWith("time=... msg=hello\n"),
  });
  const start = await device.start(ASK);
  expect(start.record).toMatchObject({ slots_read: null, context_read: null });
  const { readings } = await measure(start);
  expect(readings).toMatchObject({
    context_shifts: null,
    model_reloads: null,
    evicted_turns: null,
  });
  expect(readings.unavailable["model_reloads"]).toContain("not in llama.cpp's words");
});

test("a stream without its end is unfinished, a refusal is failed, each as itself", async () => {
  const server = await fakeLlamaServer({
    chat: (_, count) =>
      count === 2
        ? streamed([{ write: piece({ content: "half" }) }, { cut: true }])
        : count === 3
          ? {
              status: 400,
              body: { error: { type: "exceed_context_size_error", message: "secret" } },
            }
          : undefined,
  });
  const { device, rows } = deviceOn({
    kind: "llama-server",
    url: server.url,
    log_path: logWith(SLOTS),
  });
  const period = await measure(await device.start(ASK));
  expect(period.readings).toMatchObject({ unfinished_turns: 1, failed_turns: 1 });
  const faults = rows.filter(({ ok }) => !ok).map(({ fault }) => fault?.split(":")[0]);
  expect(new Set(faults)).toEqual(new Set(["context_exceeded", "stream_cut"]));
  expect(JSON.stringify(rows)).not.toContain("secret");
});

test("a period without any answer says why", async () => {
  const server = await fakeLlamaServer({
    chat: () => ({ status: 500, body: { error: "secret" } }),
  });
  const { device, notes } = deviceOn({ kind: "llama-server", url: server.url });
  await measure(await device.start(ASK));
  expect(notes).toEqual(["not one of 8 turns was answered: http_error (HTTP 500)"]);
});

test("what the log says during the period is counted, what it said before is not", async () => {
  const log_path = logWith(`${SLOTS}load_model: loading model 'x'\n`);
  const server = await fakeLlamaServer({
    chat: (_, count) => {
      if (count === 4)
        appendFileSync(log_path, "slot context shift\nload_model: loading model 'y'\n");
      return undefined;
    },
  });
  const { device } = deviceOn({ kind: "llama-server", url: server.url, log_path });
  const start = await device.start(ASK);
  await start.warmUp(1);
  expect((await measure(start)).readings).toMatchObject({ context_shifts: 1, model_reloads: 1 });
  expect((await measure(start)).readings).toMatchObject({ context_shifts: 0, model_reloads: 0 });
});

test("another model in the measured Ollama, or a neighbour that cannot be read: not alone", async () => {
  const server = await fakeOllama({
    models: ["fake", "other"],
    chat: (request, count) => {
      if (count === 5) server.in_memory.add("other:latest");
      const model = String(request.body?.["model"]);
      return ollamaStream([
        { write: ollamaPiece({ content: "x" }, model) },
        { write: ollamaFinal({ model }) },
      ]);
    },
  });
  const { device } = deviceOn({ kind: "ollama", url: server.url, log_path: logWith(SLOTS) });
  const period = await measure(await device.start(ASK));
  expect(period.disturbed).toContain("another client loaded other:latest");
  expect(period.readings.alone).toBe(false);

  const quiet = await fakeLlamaServer();
  const unreadable = { name: "house", loaded: async () => ({ models: null, reason: "HTTP 500" }) };
  const second = deviceOn({ kind: "llama-server", url: quiet.url, neighbours: [unreadable] });
  const blind = await measure(await second.device.start(ASK));
  expect(blind.readings.alone).toBeNull();
  expect(blind.disturbed).toContain('what runner "house" holds cannot be read');
});

test("prompts that were not cold make a period that does not count", async () => {
  const server = await fakeLlamaServer({
    chat: () => streamed([{ write: piece({ content: "x" }) }, ...ending({ cached_tokens: 40 })]),
  });
  const { device } = deviceOn({ kind: "llama-server", url: server.url });
  const period = await measure(await device.start(ASK));
  expect(period.disturbed).toBe("prompts were not cold: 40 of 50 prompt tokens came from a cache");
});

/** Chats that last until the slots were looked at a few times, and slots that say `busy` meanwhile. */
function lookedAt(busy: number, looks = 8) {
  const chats = new Set<{ left: number; done: () => void }>();
  return {
    busy: () => {
      const working = chats.size > 0 ? busy : 0;
      for (const chat of chats) {
        chat.left -= 1;
        if (chat.left === 0) chat.done();
      }
      return working;
    },
    async chat() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const chat = { left: looks, done: resolve };
      chats.add(chat);
      await promise;
      chats.delete(chat);
      return goodChat("fake");
    },
  };
}

test("a server that claims 4 slots and works on one request at a time is found out", async () => {
  const server = await fakeLlamaServer({ slots: 4, ...lookedAt(1) });
  const { device, notes } = deviceOn({ kind: "llama-server", url: server.url });
  const start = await device.start({ slots: 4, context_per_slot: 1024 });
  expect(start.record.slots_read).toBe(4);
  await measure(start, { workers: 4 });
  expect(start.record.slots_read).toBe(1);
  expect(notes.join()).toContain("claims 4 slots, but never worked on more than 1 of 4");
});

test("a foreign request on a slot is seen", async () => {
  const server = await fakeLlamaServer({ slots: 4, ...lookedAt(2) });
  const { device } = deviceOn({ kind: "llama-server", url: server.url });
  const period = await measure(await device.start(ASK), { workers: 1 });
  expect(period.disturbed).toContain("another client uses one");
  expect(period.readings.alone).toBe(false);
});

test("a server that dies takes the rest of the period with it, and says how it ended", async () => {
  const death = Promise.withResolvers<{ exit_code: null; signal: string; spawn_error: null }>();
  const server = await fakeLlamaServer({
    chat: (_, count) => {
      if (count !== 3) return undefined;
      death.resolve({ exit_code: null, signal: "SIGKILL", spawn_error: null });
      return streamed([{ cut: true }]);
    },
  });
  const { device } = deviceOn({ kind: "llama-server", url: server.url, exited: death.promise });
  const period = await measure(await device.start(ASK));
  expect(period.lost).toBe("the server ended: signal SIGKILL");
  expect(period.disturbed).toBeNull();
  expect(period.turns.length).toBeLessThan(8);
});

test("an attached server that goes away is lost, too", async () => {
  const server = await fakeLlamaServer({
    chat: async (_, count) => {
      if (count === 2) await server.close();
      return undefined;
    },
  });
  const { device } = deviceOn({ kind: "llama-server", url: server.url });
  const period = await measure(await device.start(ASK));
  expect(period.lost).toBe("the server is not there any more");
});

test("a model that does not load is a record and no error, without a path in it", async () => {
  const { device, notes } = deviceOn({
    kind: "llama-server",
    url: "http://127.0.0.1:1",
    launch: async () => {
      throw new Error(
        'runner "big" did not start: it ended with status 1\nggml: failed to allocate /home/ada/m.gguf',
      );
    },
  });
  const start = await device.start(ASK);
  expect(start.record).toMatchObject({
    slots_asked: 2,
    loaded: false,
    failure: "not enough memory: it ended with status 1",
    slots_read: null,
    memory_at_rest_mb: 1000,
    memory_loaded_mb: null,
  });
  expect(notes.join()).toContain("with 2 slots the model did not load");
  await start.stop();
  await expect(measure(start)).rejects.toThrow("nothing runs");
});

test("memory that the recorder saw, and what it could not see, are in the readings", async () => {
  const server = await fakeLlamaServer();
  const recorded = { host_used_peak_mb: 7900, gpus: null, unavailable: { gpus: "nvidia-smi: no" } };
  const { device } = deviceOn({ kind: "llama-server", url: server.url, recorded });
  const { readings } = await measure(await device.start(ASK));
  expect(readings).toMatchObject({ host_used_peak_mb: 7900, gpus: null });
  expect(readings.unavailable["gpus"]).toBe("nvidia-smi: no");
});
