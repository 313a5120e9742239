import { createInterface } from "node:readline";
import { waitAtMost, type Clock } from "../../core/clock.ts";
import { parseJsonLenient } from "../../core/json.ts";
import { startTree } from "../../core/process.ts";
import { processIdentity } from "../../core/process-table.ts";
import { selfCommand } from "../../core/program.ts";
import { runForAnswer } from "../../core/tool.ts";
import type { ChildOutcome, StartChild } from "./calibration-run.ts";
import { GIVE_WAY_LINE, type ChildEnd, type ChildLine, type HousekeepReport } from "./protocol.ts";

const MOST_STDERR = 4000;
/** Seconds between SIGTERM and SIGKILL: its runner is stopped meanwhile. */
const GRACE_S = 15;
/** What a process has written is read within this time after its end. */
const LAST_WORDS_MS = 5000;
/** Committing may wait for others; it does not take as long as this. */
const HOUSEKEEP_LIMIT_S = 900;

/** Starts `touchstoned _calibrate`: it holds the model lock itself, and ends when its input does. */
export function childStarter(around: {
  root: string;
  clock: Clock;
  new_id: () => string;
}): StartChild {
  const { root, clock, new_id } = around;
  return ({ runner, model }, hooks) => {
    const [file, ...args] = selfCommand();
    const token = new_id();
    hooks.onTree({ root: null, token });
    const wish = ["--station", root, "--runner", runner ?? "", "--model", model ?? ""];
    const tree = startTree(
      {
        file,
        args: [...args, "_calibrate", ...wish],
        token,
        cwd: "/",
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      },
      clock,
    );
    const identity = tree.pid === undefined ? undefined : processIdentity(tree.pid);
    if (identity !== undefined) hooks.onTree({ root: identity, token });
    // It may be gone already: `exited` tells.
    tree.stdin?.on("error", () => undefined);
    let stderr = "";
    tree.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-MOST_STDERR);
    });
    let said: ChildEnd | null = null;
    const hear = (line: ChildLine): void => {
      if (line.event === "note") hooks.onNote(line.text);
      else if (line.event === "progress") hooks.onProgress(line);
      else said = line;
    };
    const { stdout } = tree;
    const read = stdout === null ? Promise.resolve() : heard(stdout, hear);
    const ended = async (): Promise<ChildOutcome> => {
      const exit = await tree.exited;
      await waitAtMost(read, LAST_WORDS_MS, clock);
      return { said, exit, stderr };
    };
    return {
      giveWay: () => void tree.stdin?.write(`${GIVE_WAY_LINE}\n`),
      end: async () => void (await tree.end(GRACE_S)),
      ended: ended(),
    };
  };
}

/** Calls `hear` with each line; resolves at the end of all. */
function heard(stream: NodeJS.ReadableStream, hear: (line: ChildLine) => void): Promise<void> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: stream });
    lines.on("line", (text) => {
      const line = parseJsonLenient(text);
      if (typeof line === "object" && line !== null && "event" in line) hear(line as ChildLine);
    });
    lines.on("close", () => resolve());
  });
}

/** Runs `touchstoned _housekeep` to its end. Throws what went wrong with it. */
export async function housekeepInChild(root: string): Promise<HousekeepReport> {
  const [file, ...args] = selfCommand();
  const { exit_code, answer, complaints } = await runForAnswer(
    file,
    [...args, "_housekeep", "--station", root],
    { cwd: "/", quiet: true, timeout_s: HOUSEKEEP_LIMIT_S },
  );
  if (exit_code === 0) return JSON.parse(answer) as HousekeepReport;
  const last = complaints.trim().split("\n").at(-1) ?? "";
  throw new Error(last === "" ? `exit ${exit_code ?? "by a signal"}` : last);
}
