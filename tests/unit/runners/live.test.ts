import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { askRunner, type RunnerQuestion } from "../../../src/runners/light.ts";
import { environmentWords, ollamaSlots, parseShow } from "../../../src/runners/ollama-service.ts";
import { metricSlots } from "../../../src/runners/live-openai.ts";
import { plainGet } from "../../../src/runners/plain-get.ts";
import { fakeServer, type Reply } from "../../helpers/fake-http.ts";
import { fakeOllama } from "../../helpers/fake-ollama.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const LIMIT_MS = 5000;

function question(more: Partial<RunnerQuestion>): RunnerQuestion {
  return {
    kind: "llama-server",
    url: "http://127.0.0.1:9",
    model: null,
    declared_slots: null,
    limit_ms: LIMIT_MS,
    ...more,
  };
}

/** A server of raw bytes: `answer` is written to each connection, which is then ended. */
async function rawServer(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const HEAD = "HTTP/1.1 200 OK\r\n";

describe("plainGet", () => {
  it.each<[string, string[]]>([
    ["of a known length", [`${HEAD}Content-Length: 5\r\n\r\n`, "hello"]],
    [
      "in chunks, cut anywhere",
      [`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r`, "\nhe\r\n3\r\nllo\r\n0\r\n\r\n"],
    ],
    ["that ends with the connection", [`${HEAD}\r\nhel`, "lo"]],
  ])("reads an answer %s", async (_, parts) => {
    const url = await rawServer((socket) => {
      for (const part of parts) socket.write(part);
      socket.end();
    });
    expect(await plainGet(url, "/", LIMIT_MS)).toEqual({ ok: true, status: 200, body: "hello" });
  });

  it.each<[string, string, string]>([
    ["that is cut short", `${HEAD}Content-Length: 9\r\n\r\nhello`, "the answer was cut off"],
    ["whose chunks are cut short", `${HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\nhe`, "cut off"],
    ["that never comes", "", "ended before an answer"],
    ["of something else", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "no HTTP server"],
  ])("takes no answer %s", async (_, text, reason) => {
    const url = await rawServer((socket) => socket.end(text));
    expect(await plainGet(url, "/", LIMIT_MS)).toMatchObject({
      ok: false,
      reason: expect.stringContaining(reason),
    });
  });

  it("waits no longer than its limit, and says so", async () => {
    const url = await rawServer((socket) => socket.write(HEAD));
    expect(await plainGet(url, "/", 20)).toMatchObject({ reason: "no answer within 0.02 s" });
  });
});

describe("askRunner", () => {
  it("tells what passes from what does not", async () => {
    expect(await askRunner(question({}))).toMatchObject({
      ok: false,
      passing: true,
      reason: "/props: nobody listens there",
    });
    const { url } = await fakeServer(() => ({ body: { model_alias: "a", total_slots: 2 } }));
    expect(await askRunner(question({ url, model: "b" }))).toMatchObject({
      ok: false,
      passing: false,
      reason: 'it serves a, not "b"',
    });
  });

  it("refuses what this machine cannot see, and what is only started for a run", async () => {
    const far = await askRunner(question({ url: "http://10.1.2.3:8080" }));
    expect(far).toMatchObject({
      passing: false,
      reason: expect.stringContaining("another machine"),
    });
    const none = await askRunner(question({ url: null }));
    expect(none).toMatchObject({ passing: false, reason: expect.stringContaining("each run") });
  });

  it("says that a number is declared where the server does not tell it", async () => {
    const { url } = await fakeServer(() => ({ body: { model_alias: "a" } }));
    expect(await askRunner(question({ url }))).toMatchObject({
      ok: false,
      hint: expect.stringContaining("declared_slots"),
    });
    expect(await askRunner(question({ url, declared_slots: 3 }))).toMatchObject({
      ok: true,
      runner: { slots: 3, slots_source: "declared", slots_note: "declared in machine.yaml" },
    });
  });

  it("reads Ollama's model, its context, and the slots of an earlier answer's process", async () => {
    const server = await fakeOllama({ models: ["m"] });
    server.in_memory.add("m:latest");
    vi.stubEnv("PATH", tempDir());
    const declared = question({ kind: "ollama", url: server.url, model: "m", declared_slots: 2 });
    expect(await askRunner(declared)).toMatchObject({
      ok: true,
      runner: {
        version: "0.30.1",
        slots: 2,
        slots_source: "declared",
        context_per_slot: 4096,
        model: { id: "m", digest: "d".repeat(64), quantization: "Q4_K_M" },
      },
    });
    expect(await askRunner({ ...declared, model: "x" })).toMatchObject({
      passing: false,
      reason: 'it has no model "x"',
    });
    expect(await askRunner({ ...declared, model: null })).toMatchObject({ reason: "which model?" });
  });

  it("takes Ollama for unreadable where any of its answers is, /api/ps too", async () => {
    const bodies: Record<string, Reply> = {
      "/api/version": { body: { version: "1" } },
      "/api/tags": { body: { models: [{ name: "m:latest" }] } },
      "/api/ps": { status: 500, body: "" },
    };
    const { url } = await fakeServer(({ path }) => bodies[path]);
    expect(await askRunner(question({ kind: "ollama", url, model: "m" }))).toMatchObject({
      ok: false,
      passing: true,
      reason: "/api/ps: status 500",
    });
  });

  it("reads LM Studio's instances, and asks its program where they tell no slots", async () => {
    const bin = tempDir();
    vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
    const instance = { id: "mine", config: { context_length: 4096, parallel: 4 } };
    const model = { key: "google/gemma", quantization: { name: "Q4_K_M" } };
    const models = (config: object) => ({
      models: [{ ...model, loaded_instances: [{ ...instance, config }] }],
    });
    let studio: object = models(instance.config);
    const { url } = await fakeServer(({ path }) => {
      if (path === "/api/v1/models") return { body: studio };
      return path === "/v1/models" ? { body: { data: [{ id: "mine" }] } } : undefined;
    });
    const asked = question({ kind: "openai", url });
    expect(await askRunner(asked)).toMatchObject({
      ok: true,
      runner: { slots: 4, slots_source: "runner", context_per_slot: 4096 },
    });
    studio = models({});
    expect(await askRunner(asked)).toMatchObject({ ok: false, passing: false });
    const ps = JSON.stringify([{ identifier: "mine", parallel: 2, contextLength: 65_536 }]);
    const script = `#!/bin/sh\necho "Waking up LM Studio service..."\necho '${ps}'\n`;
    writeFileSync(join(bin, "lms"), script, { mode: 0o755 });
    expect(await askRunner(asked)).toMatchObject({
      ok: true,
      runner: { slots: 2, slots_source: "runner", context_per_slot: 65_536 },
    });
  });

  it("reads a gauge of slots where a server has one", () => {
    expect(metricSlots('# HELP x\nsglang:max_running_requests{model="a"} 16\n')).toBe(16);
    expect(metricSlots('vllm:config{max_num_seqs="256"} 1\n')).toBe(256);
    expect(metricSlots("vllm:num_requests_running 3\n")).toBeNull();
  });
});

describe("ollamaSlots", () => {
  /** A stand-in of systemctl that shows the unit as systemd does. */
  function unit(lines: string[]): string {
    const bin = tempDir();
    const shown = lines.join("\n");
    const text = `#!/bin/sh\ncase "$1" in --system) cat <<'END'\n${shown}\nEND\n;; *) exit 1;; esac\n`;
    writeFileSync(join(bin, "systemctl"), text, { mode: 0o755 });
    vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
    return bin;
  }
  const ACTIVE = ["LoadState=loaded", "ActiveState=active", "MainPID=0"];

  it.each([
    ['Environment=PATH=/bin "OLLAMA_NUM_PARALLEL=3"', 3],
    ["Environment=OLLAMA_HOST=0.0.0.0", 1],
    ["Environment=OLLAMA_NUM_PARALLEL=0", 1],
  ])("reads the service's environment: %s", (line, slots) => {
    unit([...ACTIVE, line]);
    expect(ollamaSlots(undefined, "linux")).toMatchObject({ ok: true, slots });
  });

  it("does not believe a unit that was changed after its service started", () => {
    const file = join(tempDir(), "override.conf");
    writeFileSync(file, "");
    const started = "ExecMainStartTimestamp=@1000";
    unit([...ACTIVE, "Environment=OLLAMA_NUM_PARALLEL=4", `DropInPaths=${file}`, started]);
    expect(ollamaSlots(undefined, "linux")).toMatchObject({
      ok: false,
      reason: expect.stringContaining("was changed after ollama.service started"),
    });
  });

  it("is not known where the value is no number, or nothing tells", () => {
    unit([...ACTIVE, "Environment=OLLAMA_NUM_PARALLEL=many"]);
    expect(ollamaSlots(undefined, "linux")).toMatchObject({ ok: false });
    unit(["LoadState=not-found", "ActiveState=inactive"]);
    expect(ollamaSlots(undefined, "linux")).toMatchObject({ ok: false });
    expect(ollamaSlots(undefined, "win32")).toMatchObject({ ok: false });
  });

  it("reads launchd's variable", () => {
    const bin = tempDir();
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "launchctl"), "#!/bin/sh\necho 4\n", { mode: 0o755 });
    vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
    expect(ollamaSlots(undefined, "darwin")).toMatchObject({ ok: true, slots: 4 });
  });

  it("parses what systemctl shows: values may hold = and blanks", () => {
    expect(parseShow("A=b=c d\nnoise\n").get("A")).toBe("b=c d");
    expect(environmentWords('A=1 "B=two words" "C=a\\"b"')).toEqual([
      "A=1",
      "B=two words",
      'C=a"b',
    ]);
  });
});
