import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Clock } from "../core/clock.ts";
import { TREE_VARIABLE, treeMembers } from "../core/process-table.ts";
import { stepSecretsSchema } from "./step-job.ts";

/** How long an orderly end may take once the parent is gone. */
const ORDERLY_MS = 1500;

export interface ParentWatch {
  /** The first line of the input, which carries what must not stand in a file. */
  secrets: Promise<{ api_key: string | null }>;
  /** Aborts when the parent has gone. */
  signal: AbortSignal;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Ends this process and everything it started, at once. Nobody is left to tell. */
function endOwnTree(): void {
  const token = process.env[TREE_VARIABLE]?.split(" ").at(-1);
  const members =
    token === undefined ? [] : treeMembers({ pid: process.pid, start_token: undefined }, token);
  for (const pid of members) kill(pid);
  kill(process.pid);
}

/**
 * Watches the pipe from the parent: it ends when the parent does, even by SIGKILL. Then the step
 * stops: orderly at first, and after a second and a half by SIGKILL, whole tree. With `continue` it
 * goes on alone once it has its secrets: a daemon comes back and looks after it.
 */
export function watchParent(
  input: Readable,
  clock: Clock,
  when_orphaned: "end" | "continue" = "end",
): ParentWatch {
  const gone = new AbortController();
  const lines = createInterface({ input });
  const secrets = new Promise<{ api_key: string | null }>((resolve) => {
    lines.once("line", (line) => {
      let parsed: unknown;
      try {
        parsed = JSON.parse(line);
      } catch {
        parsed = null;
      }
      resolve(stepSecretsSchema.safeParse(parsed).data ?? { api_key: null });
    });
    lines.once("close", () => resolve({ api_key: null }));
  });
  let armed = false;
  lines.once("line", () => (armed = true));
  lines.once("close", () => {
    if (armed && when_orphaned === "continue") return;
    gone.abort("parent gone");
    void clock.sleep(ORDERLY_MS).then(endOwnTree);
  });
  return { secrets, signal: gone.signal };
}
