import { spawn } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { processIdentity } from "../../../src/core/process-table.ts";
import { openRunner, startRunner, type RunnerSettings } from "../../../src/runners/index.ts";
import {
  EMBEDDED_ENV,
  ensureEmbedded,
  madeModel,
  realKind,
  realSettings,
  startRealServer,
} from "../../helpers/llama-server.ts";
import { chatRequest } from "../../helpers/requests.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { waitFor } from "../../helpers/wait.ts";

const KINDS =
  realKind() === "llama-server" ? (["llama-server", "embedded"] as const) : (["embedded"] as const);
const HOLDER = fileURLToPath(new URL("../../helpers/start-and-wait.ts", import.meta.url));

const gone = (pid: number): boolean => processIdentity(pid) === undefined;

function deps(work_dir: string, more: { ready_limit_s?: number; signal?: AbortSignal } = {}) {
  return {
    clock: systemClock,
    work_dir,
    new_id: ulidSource(systemClock),
    env: EMBEDDED_ENV,
    ...more,
  };
}

function script(dir: string, body: string): string {
  const path = join(dir, "server.sh");
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function withBinary(binary: string, model_file = madeModel()): RunnerSettings {
  const start = { binary, model_file, args: [], context_length: 512, slots: 1 };
  const more = { url: null, api_key: null, declared_slots: null };
  return { name: "mine", kind: "llama-server", start, ...more };
}

describe.each(KINDS)("a %s of our own", (kind) => {
  test("has the slots, the context and the name that were asked for, and ends without a trace", async () => {
    const dir = tempDir();
    const started = await startRealServer(dir, { kind, slots: 3, context_length: 512 });
    const status = await started.runner.status();
    expect(status).toMatchObject({ slots: 3, slots_source: "runner" });
    expect(status.models).toMatchObject([{ id: "tiny", context_length: 512, loaded: true }]);
    expect(await started.runner.serverPid()).toBe(started.pid);
    expect(readdirSync(dir)).toEqual([expect.stringMatching(/^runner-real-.*\.log$/)]);
    expect(started.log_path).toContain(dir);
    await started.stop();
    expect(gone(started.pid)).toBe(true);
    expect(await started.exited).toMatchObject({ spawn_error: null });
    expect(await started.runner.status()).toMatchObject({ reachable: false });
  });

  test("is stopped in mid-answer within its grace, and the answer is a fault", async () => {
    const started = await startRealServer(tempDir(), { kind, context_length: 16_384 });
    const answering = Promise.withResolvers<void>();
    const result = started.runner.generate(
      chatRequest({ model: "tiny", max_tokens: 16_000, onProgress: () => answering.resolve() }),
    );
    await answering.promise;
    await started.stop();
    expect(gone(started.pid)).toBe(true);
    expect(await result).toMatchObject({ ok: false, fault: { retryable: true } });
  });

  async function holder(dir: string) {
    if (kind === "embedded") await ensureEmbedded();
    const parent = spawn(process.execPath, [HOLDER, kind, dir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: parent.stdout });
    const [line] = await new Promise<string[]>((resolve) =>
      lines.once("line", (text) => resolve([text])),
    );
    return {
      parent,
      ...(JSON.parse(line ?? "") as { server: number; url: string; family: number[] }),
    };
  }

  test("dies with its parent, also when that is killed by SIGKILL", async () => {
    const { parent, server, family } = await holder(tempDir());
    expect(family).toContain(server);
    expect(family.length).toBeGreaterThanOrEqual(2);
    parent.kill("SIGKILL");
    await waitFor("the whole family to end", () => family.every(gone));
    expect(gone(server)).toBe(true);
  });

  test.each(onlyIf(existsSync("/usr/bin/setpriv")))("dies also with its guard", async () => {
    const { parent, server, family } = await holder(tempDir());
    const guard = family.find((pid) => pid !== server) ?? 0;
    process.kill(guard, "SIGKILL");
    await waitFor("the server to end", () => gone(server));
    parent.kill("SIGKILL");
    await waitFor("the parent to end", () => gone(parent.pid ?? 0));
    expect(family.filter((pid) => !gone(pid))).toEqual([]);
  });

  test("with a broken model says in its error what the server said", async () => {
    const dir = tempDir();
    if (kind === "embedded") await ensureEmbedded();
    const model_file = join(dir, "broken.gguf");
    writeFileSync(model_file, "GGUF but no more than that");
    const starting = startRunner(realSettings({ kind, model_file }), deps(dir));
    await expect(starting).rejects.toMatchObject({
      code: "runner_not_started",
      exitCode: 69,
      message: expect.stringMatching(/did not start: it ended with status \d+\n.*\S/s),
    });
  });
});

test("what cannot be started is said before or at once, each with its own reason", async () => {
  const dir = tempDir();
  const missing = startRunner(withBinary("/bin/true", "/nowhere/m.gguf"), deps(dir));
  await expect(missing).rejects.toThrow("there is no model file /nowhere/m.gguf");
  const relative = startRunner(withBinary("/bin/true", "m.gguf"), deps(dir));
  await expect(relative).rejects.toThrow(/must be absolute/);
  const noProgram = startRunner(withBinary("/nowhere/llama-server"), deps(dir));
  await expect(noProgram).rejects.toMatchObject({
    exitCode: 69,
    message: expect.stringMatching(/did not start: .*\/nowhere\/llama-server/s),
  });
  const ollama: RunnerSettings = { ...withBinary("/bin/true"), kind: "ollama" };
  await expect(startRunner(ollama, deps(dir))).rejects.toMatchObject({ code: "bad_config" });
  const noStart = startRunner({ ...withBinary("/bin/true"), start: null }, deps(dir));
  await expect(noStart).rejects.toMatchObject({ code: "bad_config" });
});

test("the embedded runner that is not installed says how to install it", async () => {
  const dir = tempDir();
  const settings: RunnerSettings = { ...withBinary(""), kind: "embedded" };
  const starting = startRunner(settings, { ...deps(dir), env: { XDG_STATE_HOME: dir, HOME: dir } });
  await expect(starting).rejects.toMatchObject({
    code: "embedded_not_installed",
    hint: "touchstoned runner install embedded",
  });
});

test("a server that never becomes ready is ended at its limit, with all its children", async () => {
  const dir = tempDir();
  const binary = script(dir, `echo $$ > "${dir}/pid"; sleep 1000 & sleep 1000`);
  const starting = startRunner(withBinary(binary), deps(dir, { ready_limit_s: 0.5 }));
  await expect(starting).rejects.toThrow(/not ready after 0.5 s .*connection refused/);
  expect(gone(Number(readFileSync(join(dir, "pid"), "utf8")))).toBe(true);
});

test("waiting for a server can be given up", async () => {
  const dir = tempDir();
  const binary = script(dir, `echo $$ > "${dir}/pid"; exec sleep 1000`);
  const controller = new AbortController();
  const starting = startRunner(withBinary(binary), deps(dir, { signal: controller.signal }));
  void starting.catch(() => undefined);
  await waitFor("the server to run", () => existsSync(join(dir, "pid")));
  controller.abort();
  await expect(starting).rejects.toThrow(/cancelled/);
});

test("a port that is lost to another program is tried again with another port", async () => {
  const dir = tempDir();
  const body = `echo x >> "${dir}/tries"; echo "couldn't bind HTTP server socket" >&2; exit 1`;
  const starting = startRunner(withBinary(script(dir, body)), deps(dir));
  await expect(starting).rejects.toThrow(/every free port was taken/);
  expect(readFileSync(join(dir, "tries"), "utf8")).toBe("x\nx\nx\n");
});

test("openRunner starts where it is told how, and attaches where there is a URL", async () => {
  const dir = tempDir();
  const [kind] = KINDS;
  if (kind === "embedded") await ensureEmbedded();
  const settings = realSettings({ kind });
  const own = await openRunner(settings, deps(dir));
  expect(own.started).toBe(true);
  const url = own.runner.settings.url;
  const attached = await openRunner({ ...settings, url }, deps(dir));
  expect(attached.started).toBe(false);
  await attached.close();
  expect(await own.runner.status()).toMatchObject({ reachable: true });
  await own.close();
  expect(await own.runner.status()).toMatchObject({ reachable: false });
});
