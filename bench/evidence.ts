import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../src/core/clock.ts";
import { commitOutbox, deviceKey, EvidenceBook, type CommitMode } from "../src/evidence/index.ts";
import { SAMPLE_CREATED_MS, sampleEvidence } from "../tests/helpers/sample-evidence.ts";
import { measure, quantile, type Measure } from "./measure.ts";

const COMMITS = 20;
const LIMIT = 2;
/** A person's repository has other files, too. */
const FILES = 300;

/** git as it is, with the same durability; gives what it says. */
async function git(
  home: string,
  args: readonly string[],
  { input = "", index = "index" }: { input?: string; index?: string } = {},
): Promise<string> {
  const child = spawn("git", ["-c", "core.fsync=all", "-c", "gc.auto=0", ...args], {
    cwd: join(home, "work"),
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      GIT_INDEX_FILE: join(home, index),
      GIT_AUTHOR_NAME: "x",
      GIT_AUTHOR_EMAIL: "x@example.org",
      GIT_COMMITTER_NAME: "x",
      GIT_COMMITTER_EMAIL: "x@example.org",
    },
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  // What reads nothing may have ended before it is told that there is nothing.
  child.stdin.on("error", () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`git ${args.join(" ")} ended with ${code}`);
  return text.trim();
}

async function repository(): Promise<string> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "touchstoned-bench-")));
  mkdirSync(join(home, "work"));
  await git(home, ["init", "-q", "-b", "main"]);
  for (let n = 0; n < FILES; n += 1) writeFileSync(join(home, "work", `file-${n}.txt`), `${n}\n`);
  const index = "work/.git/index";
  await git(home, ["add", "-A"], { index });
  const tree = await git(home, ["write-tree"], { index });
  const first = await git(home, ["commit-tree", tree], { input: "first" });
  await git(home, ["update-ref", "refs/heads/main", first]);
  return home;
}

/** The usual recipe: an index of its own, three blobs, a tree, a commit, a checked move of a branch. */
async function barePlumbing(home: string, n: number, texts: readonly string[]): Promise<void> {
  const ref = "refs/heads/bare";
  const old = await git(home, ["for-each-ref", "--format=%(objectname)", ref]);
  if (old !== "") await git(home, ["read-tree", old]);
  const blobs: string[] = [];
  for (const text of texts) {
    blobs.push(await git(home, ["hash-object", "-w", "--no-filters", "--stdin"], { input: text }));
  }
  const entries = blobs.map((oid, index) => `100644 ${oid}\tevidence/d/m/${n}.${index}\n`);
  await git(home, ["update-index", "--add", "--index-info"], {
    input: entries.join(""),
  });
  const tree = await git(home, ["write-tree"]);
  const parent = old === "" ? [] : ["-p", old];
  const commit = await git(home, ["commit-tree", tree, ...parent, "-F", "-"], {
    input: "evidence",
  });
  await git(home, ["update-ref", ref, commit, old === "" ? "0".repeat(40) : old]);
}

async function compare(mode: CommitMode): Promise<Measure> {
  const home = await repository();
  const state_dir = join(home, "state");
  try {
    const book = new EvidenceBook(state_dir, deviceKey(state_dir));
    const ours: number[] = [];
    const bare: number[] = [];
    // In turns, so that a busy second falls on both. The first of each warms up.
    for (let n = 0; n <= COMMITS; n += 1) {
      const evidence = sampleEvidence(state_dir, { created_ms: SAMPLE_CREATED_MS + n * 60_000 });
      const start_ms = performance.now();
      book.write(evidence);
      const { waiting, reason } = await commitOutbox({
        root: join(home, "work"),
        state_dir,
        mode,
        env: { ...process.env, HOME: home },
        clock: systemClock,
      });
      if (waiting > 0) throw new Error(`not committed: ${reason ?? ""}`);
      const middle_ms = performance.now();
      const text = JSON.stringify(evidence);
      await barePlumbing(home, n, [text, text.slice(0, 3000), text.slice(0, 6000)]);
      if (n === 0) continue;
      ours.push(middle_ms - start_ms);
      bare.push(performance.now() - middle_ms);
    }
    const [mine, theirs] = [quantile(ours, 0.5), quantile(bare, 0.5)];
    const note = `${mine.toFixed(0)} ms a commit, outbox and book included; bare ${theirs.toFixed(0)} ms`;
    return measure(`evidence_commit_${mode}`, mine / theirs, "x bare git", LIMIT, note);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** 20 commits of evidence, each in turn with one that bare git makes by the same kind of commands. */
export async function measureEvidence(): Promise<Measure[]> {
  return [await compare("ref"), await compare("branch")];
}
