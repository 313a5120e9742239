// The daemon of the demo: a child that is watched from outside, as a person or a script would.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Between looks at the folders of the inbox: cheap enough beside a measurement. */
const LOOK_MS = 250;

/** Where a file of the inbox can end. */
const ENDS = ["done", "failed", "rejected"] as const;

export type FileEnd = (typeof ENDS)[number];

export interface DemoDaemon {
  /** Waits until the file is in one of the three folders; null where the daemon ended before. */
  fileEnded(name: string): Promise<{ end: FileEnd; path: string } | null>;
  /** Asks it to stop, once, and waits; its exit status (1 where a signal ended it). */
  stop(): Promise<number>;
}

/** The place of a file that was put away, by the end of its name. */
function placeOf(inbox: string, name: string): { end: FileEnd; path: string } | null {
  for (const end of ENDS) {
    const folder = join(inbox, end);
    if (!existsSync(folder)) continue;
    const found = readdirSync(folder).find((placed) => placed.endsWith(`-${name}`));
    if (found !== undefined) return { end, path: join(folder, found) };
  }
  return null;
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (status) => resolve(status ?? 1));
  });
}

/** Starts `touchstoned daemon` in `station`; each line that it says goes to `onLine`. */
export function startDaemon(options: {
  main: string;
  station: string;
  env: NodeJS.ProcessEnv;
  onLine: (line: string) => void;
}): DemoDaemon {
  const child = spawn(process.execPath, [options.main, "daemon"], {
    cwd: options.station,
    env: options.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = exitOf(child);
  if (child.stderr !== null) createInterface(child.stderr).on("line", options.onLine);
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  // Ctrl-C in a terminal reaches the daemon as well, which then ends in an orderly way; so do we.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  const look = (): Promise<"look"> => new Promise((go) => setTimeout(go, LOOK_MS, "look" as const));
  return {
    async fileEnded(name) {
      for (;;) {
        const alive = running();
        const place = placeOf(join(options.station, "inbox"), name);
        if (place !== null || !alive) return place;
        await Promise.race([look(), exited]);
      }
    },
    async stop() {
      if (running()) child.kill("SIGTERM");
      return exited;
    },
  };
}
