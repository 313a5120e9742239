import { createInterface } from "node:readline";
import { exitText, startChild, type ChildProcess } from "../core/child.ts";
import type { Clock } from "../core/clock.ts";
import { fileKey, realDisk, type SeenFile } from "../core/disk.ts";
import { jsonLine } from "../core/json.ts";
import { selfCommand } from "../core/program.ts";
import { confine } from "../station/index.ts";
import { planFrom, READY_LINE, readAnswer } from "./parse-protocol.ts";
import type { ParseAnswer, ParseRequest, SubmissionPlan } from "./parse-protocol.ts";
import type { Refusal } from "./refusal.ts";

export type ParseOutcome =
  | { kind: "plan"; plan: SubmissionPlan; basis: PlanBasis }
  | { kind: "refused"; refusal: Refusal }
  /** The child did not live through this text. */
  | { kind: "died"; message: string }
  /** It never got to the text: this machine's trouble, not the file's. */
  | { kind: "unavailable"; message: string }
  | { kind: "stopped" };

/** What a plan was made of beside the bytes of the queue file. */
export interface PlanBasis {
  /** The station as the child was given it, as JSON. */
  station: string;
  /** Wall clock before anything was read. */
  created_ms: number;
  /** Null where more than these files decided. */
  seen: SubmissionPlan["seen"];
}

export interface Parser {
  /** Starts a child ahead of time, so that a file that falls ripe need not wait for one. */
  warm(): void;
  /** Whether a child waits for its text. */
  isReady(): boolean;
  /** Whether a plan made now would be the same, for the same bytes. */
  holds(basis: PlanBasis): boolean;
  /**
   * `beforeText` runs when the child is ready, before it gets to see the text. `limit_s`, from the text
   * to the answer, is 20 s else.
   */
  parse(
    request: Omit<ParseRequest, "station">,
    options: { beforeText: () => void; signal: AbortSignal; limit_s?: number },
  ): Promise<ParseOutcome>;
  /** Ends a child that nobody has used. */
  close(): void;
}

export interface ParserOptions {
  /** Program and arguments of the child; the hidden command `_take-up` of this program. */
  command?: readonly [program: string, ...args: string[]];
  station: ParseRequest["station"];
  clock: Clock;
  /** From the text to the answer. */
  limit_s?: number;
  heap_mb?: number;
  env?: Record<string, string>;
}

/** Until a child is ready on a machine that is busy with a model. */
const START_LIMIT_S = 60;
/** A pack may have megabytes, and an answer holds copies of the packs. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

/**
 * Our limit needs us alive; this one does not: a child that spins while its parent was killed is
 * ended by the kernel.
 */
const CPU_LIMITED = 'ulimit -t "$1" && shift && exec "$@"';

type WithDefaults = Required<Omit<ParserOptions, "env">> & Pick<ParserOptions, "env">;

class Child {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #bytes = 0;
  #errors = "";
  readonly ready: Promise<string | null>;
  isReady = false;

  constructor(options: WithDefaults) {
    const [program, ...args] = options.command;
    const cpu_s = String(Math.ceil(options.limit_s) + START_LIMIT_S);
    const heap = `--max-old-space-size=${options.heap_mb}`;
    this.#process = startChild({
      file: "/bin/sh",
      args: ["-c", CPU_LIMITED, "sh", cpu_s, program, heap, ...args],
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    const { stdout, stderr } = this.#process;
    stdout.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_ANSWER_BYTES) this.kill();
    });
    stderr.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString("utf8")).slice(-4000);
    });
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    this.ready = this.#firstLine();
    this.ready.catch(() => undefined);
  }

  async #line(): Promise<string | null> {
    const next = await this.#lines.next();
    return next.done === true ? null : next.value;
  }

  async #firstLine(): Promise<string | null> {
    const line = await this.#line();
    this.isReady = line === READY_LINE;
    return line;
  }

  async ask(request: ParseRequest): Promise<string | null> {
    this.#process.stdin.end(jsonLine(request));
    return this.#line();
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  /** Lets go of a child that was asked nothing: it ends by itself. */
  release(): void {
    this.#process.stdin.end();
  }

  /** Why it ended, with its last words. */
  async obituary(): Promise<string> {
    const exit = exitText(await this.#process.exited);
    const words = this.#errors
      .trim()
      .split("\n")
      .find((line) => /error|fatal/i.test(line));
    return words === undefined ? exit : `${exit}: ${words.trim().slice(0, 300)}`;
  }
}

type Race<T> = { by: "value"; value: T } | { by: "limit" } | { by: "signal" };

/** Waits for a promise no longer than a limit and no longer than a signal allows. */
async function within<T>(
  promise: Promise<T>,
  limit_s: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<Race<T>> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return await Promise.race([
      promise.then((value): Race<T> => ({ by: "value", value })),
      clock
        .sleep(limit_s * 1000, either)
        .then((): Race<T> => ({ by: signal.aborted ? "signal" : "limit" })),
    ]);
  } finally {
    over.abort();
  }
}

/**
 * A file may be written twice within one tick of the clock that dates it, and show it by nothing; one
 * that is older than that when it is read cannot. 2 s is the coarsest of such clocks (FAT).
 */
const TICK_MS = 2000;

function isSame(root: string, { path, real, key }: SeenFile, created_ms: number): boolean {
  if (confine(root, path, "a file") !== real) return false;
  // Opened, since a network file system answers a mere look out of its cache.
  const stat = realDisk.read(real, 0).before;
  if (fileKey(stat) !== key) return false;
  const newest_ns = stat.mtime_ns > stat.ctime_ns ? stat.mtime_ns : stat.ctime_ns;
  return Number(newest_ns) / 1e6 + TICK_MS <= created_ms;
}

function areSame(root: string, { seen, created_ms }: PlanBasis): boolean {
  try {
    return seen !== null && seen.every((file) => isSame(root, file, created_ms));
  } catch {
    return false; // one of them leads out of the station by now, or cannot be looked at
  }
}

/**
 * Parses each text in a child process of its own with limits on time and memory: some texts end the
 * process that parses them past any catch, and one that did is never used for another text.
 */
export function createParser(given: ParserOptions): Parser {
  const [program, ...args] = selfCommand();
  const options: WithDefaults = {
    command: [program, ...args, "_take-up"],
    limit_s: 20,
    heap_mb: 512,
    ...given,
  };
  const { clock } = options;
  let waiting: Child | null = null;

  async function run(
    child: Child,
    request: ParseRequest,
    how: Parameters<Parser["parse"]>[1],
  ): Promise<ParseOutcome> {
    const { beforeText, signal, limit_s = options.limit_s } = how;
    const ready = await within(child.ready, START_LIMIT_S, clock, signal);
    if (ready.by === "signal") return { kind: "stopped" };
    if (ready.by === "limit") {
      return { kind: "unavailable", message: `no parser was ready within ${START_LIMIT_S} s` };
    }
    if (ready.value !== READY_LINE) {
      return {
        kind: "unavailable",
        message: `the parser did not start: ${await child.obituary()}`,
      };
    }
    beforeText();
    const station = JSON.stringify(request.station);
    const reply = await within(child.ask(request), limit_s, clock, signal);
    if (reply.by === "signal") return { kind: "stopped" };
    if (reply.by === "limit") {
      return { kind: "died", message: `parsing took longer than ${limit_s} s` };
    }
    if (reply.value === null) {
      return { kind: "died", message: `the parser ended: ${await child.obituary()}` };
    }
    let answer: ParseAnswer;
    try {
      answer = readAnswer(reply.value);
    } catch (error) {
      // Half a line is the last word of a child that was ended; a whole one is another program's.
      if (!(error instanceof SyntaxError)) throw error;
      child.kill();
      return { kind: "died", message: `the parser ended: ${await child.obituary()}` };
    }
    if (!answer.ok) return { kind: "refused", refusal: answer.refusal };
    const plan = planFrom(answer);
    const { created_ms } = request;
    return { kind: "plan", plan, basis: { station, created_ms, seen: plan.seen } };
  }

  return {
    warm() {
      waiting ??= new Child(options);
    },
    isReady: () => waiting?.isReady === true,
    holds(basis) {
      const { station } = options;
      return basis.station === JSON.stringify(station) && areSame(station.root, basis);
    },
    async parse(request, how) {
      const child = waiting ?? new Child(options);
      waiting = null;
      try {
        return await run(child, { ...request, station: options.station }, how);
      } finally {
        child.kill();
      }
    },
    close() {
      waiting?.release();
      waiting = null;
    },
  };
}
