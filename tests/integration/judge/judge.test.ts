import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { readJsonLines } from "../../../src/core/files.ts";
import { judgeStepFault } from "../../../src/eval/index.ts";
import { readVerdicts } from "../../../src/eval/judge-store.ts";
import { acquireModelLock, lockStatus } from "../../../src/station/index.ts";
import { command, isolatedEnv, startCommand } from "../../helpers/command.ts";
import { GOOD_REPORT, GOOD_VERDICT } from "../../helpers/fake-judge.ts";
import type { Recorded, Reply } from "../../helpers/fake-http.ts";
import { ending, fakeOpenAi, piece, streamed } from "../../helpers/fake-openai.ts";
import { writeBundle } from "../../helpers/judge-bundle.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

const MODEL = "examiner";

function isReport(request: Recorded): boolean {
  return JSON.stringify(request.body).includes(String.raw`\"verdicts\":`);
}

function says(text: string): Reply {
  const parts = [text.slice(0, 10), text.slice(10)];
  return streamed([
    ...parts.map((content) => ({ write: piece({ model: MODEL, content }) })),
    ...ending({ model: MODEL, prompt_tokens: 900 }),
  ]);
}

interface Place {
  env: Record<string, string>;
  home: string;
  bundle: string;
  lock: string;
}

/** A home with one runner at `url` and a whole bundle of ten answers. */
function place(url: string, judge_yaml = `model: ${MODEL}\n`): Place {
  const home = tempDir();
  mkdirSync(join(home, "config", "touchstoned"), { recursive: true, mode: 0o700 });
  const machine = { runners: [{ name: "desk", kind: "openai", url }] };
  writeFileSync(join(home, "config", "touchstoned", "machine.yaml"), JSON.stringify(machine));
  writeFileSync(join(home, "judge.yaml"), judge_yaml);
  mkdirSync(join(home, "bundle"));
  const bundle = writeBundle(join(home, "bundle"));
  return { env: isolatedEnv(home), home, bundle, lock: join(home, "model.lock") };
}

function judgeArgs(where: Place, ...more: string[]): string[] {
  return [
    "judge",
    "--bundle",
    where.bundle,
    "--judge-config",
    join(where.home, "judge.yaml"),
    ...more,
  ];
}

const run = (where: Place, ...more: string[]) =>
  command(judgeArgs(where, ...more), { env: where.env, cwd: where.home });

describe("touchstoned judge", () => {
  test("judges a whole bundle over HTTP, prints one JSON document and leaves the lock free", async () => {
    const server = await fakeOpenAi({
      models: [MODEL],
      version: "v9",
      chat: (request) => says(isReport(request) ? GOOD_REPORT : `Well. ${GOOD_VERDICT}`),
    });
    const where = place(server.url);
    const started_ms = Date.now();
    const ended = await run(where, "--json");
    expect(ended.stderr).toContain("10/10");
    expect(ended.exit_code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      exit_code: 0,
      scored: 10,
      reports_scored: 2,
      judge: { model: MODEL, runner: "desk" },
      groups: [
        { variant: "none", quality: { safety: { status: "passed" } } },
        { variant: "brief" },
      ],
    });
    expect(judgeStepFault(where.bundle, started_ms)).toBeNull();
    const chats = server.requests.filter(({ path }) => path === "/v1/chat/completions");
    expect(chats).toHaveLength(12);
    expect(chats[0]?.body).toMatchObject({
      model: MODEL,
      stream: true,
      temperature: 0,
      seed: 42,
      max_tokens: 2048,
      reasoning_effort: "none",
    });
    expect(readFileSync(join(where.bundle, "scorecard.md"), "utf8")).toContain("92.0 %");
    expect((await lockStatus(where.lock)).held).toBe(false);
    const again = await run(where);
    expect(again.stdout).toContain("92.0 %");
    expect(server.requests.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(12);
  });

  test("a judge that dies opens the breaker: 69 and no scores; later only the rest is asked", async () => {
    let alive = false;
    const server = await fakeOpenAi({
      models: [MODEL],
      chat: (request, count) => {
        if (!alive && count > 4) {
          return streamed([{ write: piece({ model: MODEL, content: '{"sco' }) }, { cut: true }]);
        }
        return says(isReport(request) ? GOOD_REPORT : GOOD_VERDICT);
      },
    });
    const where = place(server.url);
    const first = await run(where);
    expect(first.exit_code).toBe(69);
    expect(first.stderr).toContain("3 calls in a row failed, the last one stream_cut");
    expect(readVerdicts(where.bundle)).toHaveLength(4);
    expect(() => readFileSync(join(where.bundle, "scores.csv"))).toThrow(/ENOENT/);
    alive = true;
    server.requests.length = 0;
    expect((await run(where)).exit_code).toBe(0);
    expect(server.requests.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(8);
  });

  test("kill -9 in the middle keeps the verdicts, releases the lock, looks judged to nobody", async () => {
    const held = Promise.withResolvers<void>();
    const server = await fakeOpenAi({
      models: [MODEL],
      chat: async (request, count) => {
        if (count === 4) await held.promise;
        return says(isReport(request) ? GOOD_REPORT : GOOD_VERDICT);
      },
    });
    const where = place(server.url);
    const running = startCommand(judgeArgs(where), { env: where.env, cwd: where.home });
    await waitFor("three verdicts and a call that hangs", () =>
      server.requests.filter(({ path }) => path === "/v1/chat/completions").length === 4
        ? readVerdicts(where.bundle).length === 3
        : undefined,
    );
    running.child.kill("SIGKILL");
    await running.finished;
    held.resolve();
    expect(judgeStepFault(where.bundle, 0)).toBe("bundle.json says nothing about a judge");
    expect((await lockStatus(where.lock)).held).toBe(false);
    server.requests.length = 0;
    expect((await run(where)).exit_code).toBe(0);
    expect(server.requests.filter(({ path }) => path === "/v1/chat/completions")).toHaveLength(9);
  });

  test("SIGTERM ends it in order: verdicts kept, exit 1", async () => {
    const server = await fakeOpenAi({
      models: [MODEL],
      chat: (_request, count) =>
        count === 3
          ? streamed([{ write: piece({ model: MODEL, content: "Let me see" }) }, { hang: true }])
          : says(GOOD_VERDICT),
    });
    const where = place(server.url);
    const running = startCommand(judgeArgs(where), { env: where.env, cwd: where.home });
    await waitFor(
      "the third call",
      () => server.requests.filter(({ path }) => path === "/v1/chat/completions").length === 3,
    );
    running.child.kill("SIGTERM");
    const ended = await running.finished;
    expect(ended).toMatchObject({ exit_code: 1, signal: null });
    expect(ended.stderr).toContain("stopped before the end");
    expect(readVerdicts(where.bundle)).toHaveLength(2);
  });

  test("waits for nobody where the lock is taken, unless it is told to, and works inside a holder", async () => {
    const server = await fakeOpenAi({
      models: [MODEL],
      chat: (request) => says(isReport(request) ? GOOD_REPORT : GOOD_VERDICT),
    });
    const where = place(server.url);
    const lock = await acquireModelLock({
      path: where.lock,
      wait_s: 0,
      holder: { purpose: "test", run_id: null },
      clock: systemClock,
    });
    const busy = await run(where);
    expect(busy.exit_code).toBe(75);
    expect(server.requests).toHaveLength(0);
    lock.release();
    const main = join(import.meta.dirname, "../../../src/cli/main.ts");
    const inside = await command(
      ["lock", "run", "--", process.execPath, main, ...judgeArgs(where)],
      { env: where.env, cwd: where.home },
    );
    expect(inside.stderr).toContain("10/10");
    expect(inside.exit_code).toBe(0);
  });

  test("refuses what cannot be judged before it asks anybody", async () => {
    const server = await fakeOpenAi({ models: [MODEL] });
    const where = place(server.url);
    const elsewhere = `endpoint: { base_url: "http://127.0.0.1:9/v1" }\nmodel: ${MODEL}\n`;
    writeFileSync(join(where.home, "judge.yaml"), elsewhere);
    const endpoint = await run(where);
    expect([endpoint.exit_code, endpoint.stderr]).toEqual([
      64,
      expect.stringContaining("is not the URL of a declared runner"),
    ]);
    writeFileSync(
      join(where.home, "judge.yaml"),
      `endpoint: { base_url: "${server.url}/v1" }\nmodel: no-such-model\n`,
    );
    const unknown = await run(where);
    expect([unknown.exit_code, unknown.stderr]).toEqual([
      69,
      expect.stringContaining("model_not_found"),
    ]);
    writeFileSync(join(where.bundle, "responses.jsonl"), "");
    const damaged = await run(where);
    expect([damaged.exit_code, damaged.stderr]).toEqual([
      64,
      expect.stringContaining("responses.jsonl is not what was recorded"),
    ]);
    expect(server.requests.filter(({ path }) => path === "/v1/chat/completions")).toEqual([]);
    expect(readJsonLines(join(where.bundle, "judgements.jsonl"))).toEqual([]);
  });
});
