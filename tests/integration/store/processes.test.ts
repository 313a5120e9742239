import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../../src/store/index.ts";
import { jobsOf, ownerOf, submissionOf } from "../../helpers/store-fixtures.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const CHILD = fileURLToPath(new URL("store-child.ts", import.meta.url));

async function queueOf(path: string, jobs: number): Promise<void> {
  const { store } = await openSqliteStore({ path, now_ms: 0, role: "owner" });
  const entries = Array.from({ length: jobs }, () => ({}));
  await store.accept(submissionOf("S1", { accepted_at_ms: 0 }), jobsOf("S1", entries));
  await store.close();
}

interface Worker {
  /** All lines, once it has ended. */
  lines: Promise<string[]>;
  first: Promise<unknown>;
  go: () => void;
}

/** Starts the child; with `kill_after` it is killed when it has said so many lines. */
function start(path: string, owner: string, wait: boolean, kill_after = Infinity): Worker {
  const child = spawn(process.execPath, [CHILD, path, owner, wait ? "wait" : ""], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const reader = createInterface({ input: child.stdout });
  const first = once(reader, "line");
  const lines: string[] = [];
  reader.on("line", (line) => {
    lines.push(line);
    if (lines.length >= kill_after) child.kill("SIGKILL");
  });
  return { first, go: () => child.stdin.write("go"), lines: closed.then(() => lines) };
}

function work(path: string, owner: string, kill_after = Infinity): Promise<string[]> {
  return start(path, owner, false, kill_after).lines;
}

function said(lines: readonly string[], what: string): string[] {
  return lines
    .filter((line) => line.startsWith(`${what} `))
    .map((line) => line.split(" ")[1] ?? "")
    .sort();
}

test("processes that claim from one file at once get each job once", async () => {
  const path = join(tempDir(), "queue.db");
  await queueOf(path, 60);
  const workers = [start(path, "a", true), start(path, "b", true)];
  // Both have a job before either goes on, so neither is done before the other has begun.
  await Promise.all(workers.map(({ first }) => first));
  for (const { go } of workers) go();
  const all = (await Promise.all(workers.map(({ lines }) => lines))).flat();
  expect(said(all, "claimed")).toEqual([...new Set(said(all, "claimed"))]);
  expect(said(all, "claimed")).toHaveLength(60);
  expect(said(all, "complete")).toHaveLength(60);
  const { store } = await openSqliteStore({ path, now_ms: 0, role: "owner" });
  expect(await store.counts()).toMatchObject({ PENDING: 0, COMPLETE: 60 });
  expect(await store.check()).toEqual([]);
  expect(await store.owners()).toEqual([]);
  await store.close();
});

test("processes that are killed at work lose nothing that was said and do nothing twice", async () => {
  const path = join(tempDir(), "queue.db");
  await queueOf(path, 30);
  const all: string[] = [];
  // Different counts, so that the end comes at different places of the loop.
  for (const kill_after of [1, 2, 5, 8, 3, 6]) {
    all.push(...(await work(path, "box", kill_after)));
    const raw = new DatabaseSync(path);
    expect(raw.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    raw.close();
    const { store, set_aside } = await openSqliteStore({ path, now_ms: 0, role: "owner" });
    expect(set_aside).toBeNull();
    for (const id of said(all, "complete")) {
      expect(await store.job(id)).toMatchObject({ state: "COMPLETE" });
    }
    const report = await store.reap(0, () => "dead");
    expect(report.owners).toEqual(["box"]);
    expect(report.interrupted.length).toBeLessThanOrEqual(1);
    expect(await store.owners()).toEqual([]);
    expect(await store.check()).toEqual([]);
    await store.close();
  }
  const rest = await work(path, "box");
  expect(rest.at(-1)).toMatch(/^complete/);
  const { store } = await openSqliteStore({ path, now_ms: 0, role: "owner" });
  expect(await store.counts()).toMatchObject({ COMPLETE: 30 });
  const finished = [...said(all, "complete"), ...said(rest, "complete")];
  expect(finished).toEqual([...new Set(finished)]);
  expect(await store.register(ownerOf("box"), 0)).toEqual({ ok: true });
  expect(await store.check()).toEqual([]);
  await store.close();
});
