import { join } from "node:path";

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { existsSync, mkdirSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");

/** Where the daemon of a station keeps its things, all in the state directory. */
export interface StateFiles {
  store: string;
  /** Held by the daemon as long as it lives; never removed. */
  lock: string;
  /** What the daemon says of itself, for `status`. */
  snapshot: string;
  /** The step that runs, so that the next daemon finds it. */
  running: string;
  /** Writing in it wakes the daemon. */
  wake_dir: string;
  log: string;
  /** Which times of `schedule:` are settled. */
  schedule: string;
  /** What was tried in idle hours, and what is to wait. */
  idle: string;
  /** There while the queue is held, for the day when the store cannot say so any more. */
  held: string;
}

export function stateFiles(state_dir: string): StateFiles {
  return {
    store: join(state_dir, "queue.db"),
    lock: join(state_dir, "daemon.lock"),
    snapshot: join(state_dir, "daemon.json"),
    running: join(state_dir, "running.json"),
    wake_dir: join(state_dir, "wake"),
    log: join(state_dir, "daemon.log"),
    schedule: join(state_dir, "schedule.json"),
    idle: join(state_dir, "idle.json"),
    held: join(state_dir, "queue.held"),
  };
}

/** Tells a daemon, if there is one, that the queue was changed. It looks by itself within a minute. */
export function wakeDaemon(files: Pick<StateFiles, "wake_dir">): void {
  try {
    mkdirSync(files.wake_dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(files.wake_dir, "hint"), "");
  } catch {
    // A hint, no more.
  }
}

/** Notes beside the store that the queue is held, or is not any more. */
export function noteHold({ held }: Pick<StateFiles, "held">, is_held: boolean): void {
  if (is_held) writeFileSync(held, "", { mode: 0o600 });
  else rmSync(held, { force: true });
}

/** What was noted last. A rebuild goes by it: the store that knew is gone. */
export function wasHeld({ held }: Pick<StateFiles, "held">): boolean {
  return existsSync(held);
}
