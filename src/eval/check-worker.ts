import { Worker } from "node:worker_threads";
import type { WorkerReply, WorkerTask } from "./regex-worker.ts";

/** A check that takes longer than this is ended and stays undecided. */
export const CHECK_LIMIT_MS = 1000;
/** Starting a thread on a crowded machine may take a while; past this something is broken. */
const START_LIMIT_MS = 30_000;

function startWorker(): Worker {
  // Compiled JavaScript when installed, the source itself in development.
  const file = import.meta.url.endsWith(".ts")
    ? new URL("./regex-worker.ts", import.meta.url)
    : new URL("./regex-worker.js", import.meta.url);
  return new Worker(file, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
}

/** One task from "prepared" to its reply. `dead` where the thread cannot be asked again. */
function exchange(
  worker: Worker,
  task: WorkerTask,
  limit_ms: number,
): Promise<{ reply: WorkerReply; dead: boolean }> {
  return new Promise((resolve) => {
    const done = (reply: WorkerReply, dead: boolean): void => {
      clearTimeout(timer);
      worker.removeAllListeners();
      // An error that comes after the reply must not end the process.
      worker.on("error", () => undefined);
      resolve({ reply, dead });
    };
    const late = (limit: number, what: string): NodeJS.Timeout =>
      setTimeout(() => done({ fault: `${what} within ${limit} ms` }, true), limit);
    let timer = late(START_LIMIT_MS, "the check's thread was not ready");
    worker.on("message", (message: WorkerReply | "prepared") => {
      if (message !== "prepared") return done(message, false);
      clearTimeout(timer);
      timer = late(limit_ms, "not decided");
    });
    worker.on("error", (error: unknown) =>
      done({ fault: error instanceof Error ? error.message : String(error) }, true),
    );
    worker.on("exit", () => done({ fault: "the check's thread ended" }, true));
    worker.postMessage(task);
  });
}

/** Runs checks one after the other in a thread that is ended when one takes too long. */
export class CheckWorker {
  #worker: Worker | undefined;
  readonly #limit_ms: number;

  constructor(limit_ms: number = CHECK_LIMIT_MS) {
    this.#limit_ms = limit_ms;
  }

  /** Never rejects: a thread that cannot do it gives a fault. */
  async ask(task: WorkerTask): Promise<WorkerReply> {
    this.#worker ??= startWorker();
    const { reply, dead } = await exchange(this.#worker, task, this.#limit_ms);
    if (dead) await this.close();
    return reply;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
