import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { readJsonLines } from "../../../src/core/files.ts";
import { isAlive, processIdentity, treeMembers } from "../../../src/core/process-table.ts";
import { bundleState, evalStepFault, readResponses } from "../../../src/eval/index.ts";
import { acquireModelLock, lockStatus } from "../../../src/station/index.ts";
import { command, isolatedEnv, startCommand } from "../../helpers/command.ts";
import { ensureEmbedded, EMBEDDED_ENV, realSettings } from "../../helpers/llama-server.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

const MODEL = "tiny";

function pack(max_tokens: number): string {
  return `
id: demo
title: Demo
scale: { 1: bad, 2: poor, 3: fair, 4: good, 5: excellent }
dimensions: [{ id: d, name: D }]
prompt_variants: [{ id: none, system_prompt: null }, { id: terse, system_prompt: Be brief. }]
categories:
  - id: A
    name: A
    prompts:
      - { id: a1, prompt: What is six times seven?, max_tokens: ${max_tokens}, checks: [{ max_words: 9999 }] }
      - { id: a2, prompt: Say something., max_tokens: ${max_tokens} }
`;
}

interface Place {
  env: Record<string, string | undefined>;
  pack: string;
  bundle: string;
  lock: string;
}

/** A home of its own with one runner in machine.yaml. */
async function place(options: { url?: string; max_tokens?: number } = {}): Promise<Place> {
  const home = tempDir();
  const { kind, start } = realSettings();
  if (kind === "embedded") await ensureEmbedded();
  const runner =
    options.url === undefined
      ? { name: "real", kind, start: { ...start, binary: start?.binary ?? undefined } }
      : { name: "real", kind: "llama-server", url: options.url };
  mkdirSync(join(home, "config", "touchstoned"), { recursive: true, mode: 0o700 });
  writeFileSync(
    join(home, "config", "touchstoned", "machine.yaml"),
    JSON.stringify({ runners: [runner] }),
  );
  writeFileSync(join(home, "pack.yaml"), pack(options.max_tokens ?? 16));
  const env = isolatedEnv(home);
  return {
    env: {
      ...env,
      ...(kind === "embedded" ? { XDG_STATE_HOME: EMBEDDED_ENV["XDG_STATE_HOME"] } : {}),
    },
    pack: join(home, "pack.yaml"),
    bundle: join(home, "bundle"),
    lock: join(home, "model.lock"),
  };
}

function evalArgs(where: Place, model = MODEL): string[] {
  return ["eval", "--model", model, "--pack", where.pack, "--run-dir", where.bundle];
}

async function lockIsFree(where: Place): Promise<boolean> {
  return !(await lockStatus(where.lock)).held;
}

describe("touchstoned eval on a real server", () => {
  test("stands alone: its own server, a whole bundle, one JSON document, nothing left behind", async () => {
    const where = await place();
    const started_ms = Date.now();
    const ended = await command([...evalArgs(where), "--json"], { env: where.env });
    expect(ended.stderr).toContain("4/4");
    expect(ended.exit_code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      bundle_dir: where.bundle,
      exit_code: 0,
      cells_total: 4,
      cells_ok: 4,
      summaries: [
        { variant: "none", ok: 2, excluded: { cold: 1 } },
        { variant: "terse", ok: 2 },
      ],
    });
    expect(evalStepFault(where.bundle, started_ms)).toBeNull();
    const rows = readResponses(where.bundle);
    for (const row of rows) {
      expect(row.response_text.length).toBeGreaterThan(0);
      expect(row).toMatchObject({ completion_tokens: 16, finish_reason: "length", ok: true });
      expect(row.ttft_s).toBeGreaterThan(0);
      expect(row.sys_used_mb).toBeGreaterThan(0);
    }
    expect(rows[0]?.checks).toEqual([{ kind: "max_words", passed: true, reason: null }]);
    expect(readFileSync(join(where.bundle, "scorecard.md"), "utf8")).toContain("Demo: tiny");
    const ticks = readJsonLines(join(where.bundle, "resources.jsonl")) as { baseline: boolean }[];
    expect(ticks.some((tick) => tick.baseline)).toBe(true);
    expect(readdirSync(where.bundle).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    expect(await lockIsFree(where)).toBe(true);
  });

  test("kill -9 in the middle leaves no whole bundle and nothing running; resume keeps what is there", async () => {
    const where = await place({ max_tokens: 700 });
    const running = startCommand(evalArgs(where), { env: where.env });
    const rows = await waitFor("a first answer and a second request", () => {
      const begun = readJsonLines(join(where.bundle, "events.jsonl")) as { type: string }[];
      return begun.filter(({ type }) => type === "cell_start").length > 1
        ? readResponses(where.bundle)
        : undefined;
    });
    const { pid = -1 } = running.child;
    const children = treeMembers(
      { pid, start_token: processIdentity(pid)?.start_token },
      "no such token",
    )
      .filter((member) => member !== pid)
      .flatMap((member) => processIdentity(member) ?? []);
    expect(children.length).toBeGreaterThan(0);
    running.child.kill("SIGKILL");
    await running.finished;
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThan(4);
    expect(bundleState(where.bundle).state).toBe("started");
    await waitFor("its children to end", () => !children.some(isAlive));
    await waitFor("the lock to be free", () => lockIsFree(where));

    const refused = await command(evalArgs(where), { env: where.env });
    expect(refused.exit_code).toBe(64);
    expect(refused.stderr).toContain("--resume");

    const resumed = await command(["eval", "--resume", where.bundle], { env: where.env });
    expect(resumed.exit_code).toBe(0);
    const after = readResponses(where.bundle);
    expect(after).toHaveLength(4);
    expect(after[0]).toMatchObject({
      t_start: rows[0]?.t_start,
      response_text: rows[0]?.response_text,
      invocation: rows[0]?.invocation,
    });
    expect(after[3]?.invocation).not.toBe(rows[0]?.invocation);
    expect(bundleState(where.bundle).state).toBe("whole");
  });

  test("SIGINT stops it in order and says how to go on", async () => {
    const where = await place({ max_tokens: 700 });
    const running = startCommand(evalArgs(where), { env: where.env });
    await waitFor("a first request", () =>
      readJsonLines(join(where.bundle, "events.jsonl")).length > 3 ? true : undefined,
    );
    running.child.kill("SIGINT");
    const ended = await running.finished;
    expect(ended).toMatchObject({ exit_code: 1, signal: null });
    expect(ended.stderr).toContain(`touchstoned eval --resume ${where.bundle}`);
    const events = readJsonLines(join(where.bundle, "events.jsonl")) as { type: string }[];
    expect(events.at(-1)?.type).toBe("run_failed");
    expect(bundleState(where.bundle).state).toBe("started");
    expect(await lockIsFree(where)).toBe(true);
  });

  test("a model that is not served: exit 1, no retry promised", async () => {
    const where = await place();
    const ended = await command(evalArgs(where, "no-such-model"), { env: where.env });
    expect(ended.exit_code).toBe(1);
    expect(ended.stderr).toMatch(/"no-such-model" cannot be measured, and no retry changes that/);
    expect(readResponses(where.bundle).every((row) => row.fault?.class === "model_not_found")).toBe(
      true,
    );
  });
});

describe("touchstoned eval without a server", () => {
  test("a port where nobody listens: exit 69", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const where = await place({ url: `http://127.0.0.1:${port}` });
    const config = join(where.bundle, "..", "config.yaml");
    writeFileSync(config, "request_limits: { connect_s: 0.5 }");
    const ended = await command([...evalArgs(where), "--config", config], { env: where.env });
    expect(ended.exit_code).toBe(69);
    expect(ended.stderr).toContain("unreachable");
    expect(bundleState(where.bundle).state).toBe("started");
  });

  test("waits for nobody where the lock is taken: exit 75, and nothing is begun", async () => {
    const where = await place({ url: "http://127.0.0.1:9" });
    const lock = await acquireModelLock({
      path: where.lock,
      wait_s: 0,
      holder: { purpose: "a test", run_id: null },
      clock: systemClock,
    });
    try {
      const ended = await command(evalArgs(where), { env: where.env });
      expect(ended.exit_code).toBe(75);
      expect(ended.stderr).toContain("a test");
      expect(existsSync(where.bundle)).toBe(false);
    } finally {
      lock.release();
    }
  });

  test("says what is wrong with what it was given before it does anything", async () => {
    const where = await place({ url: "http://127.0.0.1:9" });
    writeFileSync(where.pack, pack(16).replace("id: a2", "id: a1"));
    const bad = await command(evalArgs(where), { env: where.env });
    expect(bad.exit_code).toBe(64);
    expect(bad.stderr).toMatch(/pack\.yaml:12:\d+: .*prompt id "a1" is there twice/);
    const both = await command([...evalArgs(where), "--out", "x"], { env: where.env });
    expect(both.exit_code).toBe(2);
    const none = await command(["eval", "--model", "m"], { env: where.env });
    expect(none).toMatchObject({ exit_code: 2, stdout: "" });
    expect(none.stderr).toContain("--pack is missing");
    const nothing = await command(["eval", "--resume", "/nowhere"], { env: where.env });
    expect(nothing).toMatchObject({ exit_code: 64 });
  });
});
