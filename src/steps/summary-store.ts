import { join } from "node:path";
import { isoTime, type Clock } from "../core/clock.ts";
import { EXIT, systemErrorCode, TouchstonedError } from "../core/errors.ts";
import { writeFileAtomic } from "../core/files.ts";
import { prettyJson } from "../core/json.ts";
import {
  countEntries,
  summaryMarkdown,
  type Attempt,
  type QueueEntry,
  type StepsFile,
  type Summary,
} from "../queue/index.ts";

const FULL_DISK_CODES: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/** A record that could not be written: the run must end, since it could not say what it did. */
function recordError(path: string, error: unknown): unknown {
  const code = systemErrorCode(error);
  if (code === undefined || !FULL_DISK_CODES.has(code)) return error;
  const what = code === "ENOSPC" || code === "EDQUOT" ? "the disk is full" : code;
  return new TouchstonedError({
    code: "cannot_write",
    exitCode: EXIT.failed,
    message: `${path}: could not be written: ${what}. The run ends here`,
    hint: "What was written before is whole. Make room, then go on with `queue run --resume`.",
    cause: error,
  });
}

function write(path: string, text: string): void {
  try {
    writeFileAtomic(path, text);
  } catch (error) {
    throw recordError(path, error);
  }
}

/** Within so long a note is written: many things may happen in that time, and are written at once. */
const NOTE_MS = 100;

/** Keeps `summary.json` and `summary.md` of one submission in step with what happened. */
export class SummaryStore {
  readonly summary: Summary;
  readonly directory: string;
  readonly #clock: Clock;
  /** Writes what was noted. */
  #pending: NodeJS.Timeout | null = null;

  constructor(directory: string, summary: Summary, clock: Clock) {
    this.directory = directory;
    this.summary = summary;
    this.#clock = clock;
  }

  /** Changes the summary and writes it. Throws `cannot_write` where the disk is full. */
  update(change: (summary: Summary) => void): void {
    if (this.#pending !== null) clearTimeout(this.#pending);
    this.#pending = null;
    change(this.summary);
    countEntries(this.summary);
    this.summary.updated = isoTime(this.#clock.now_ms());
    write(join(this.directory, "summary.json"), prettyJson(this.summary));
    write(join(this.directory, "summary.md"), summaryMarkdown(this.summary, this.directory));
  }

  /**
   * Changes the summary; on disk it is soon, or with the next `update`. For what is on its way and
   * can be seen from the bundles and the store, so that nobody waits for the disk in between.
   */
  note(change: (summary: Summary) => void): void {
    change(this.summary);
    this.#pending ??= setTimeout(() => this.flush(), NOTE_MS);
  }

  /** Writes now what was only noted, if anything. */
  flush(): void {
    if (this.#pending === null) return;
    try {
      this.update(() => undefined);
    } catch {
      // The disk is full: what comes next says so where somebody hears it.
    }
  }
}

/** Writes `steps.json` of a bundle, which says the same as the summary but lives with the data. */
export function writeSteps(
  bundle_dir: string,
  entry: Pick<QueueEntry, "index" | "key">,
  attempts: readonly Attempt[],
): void {
  const file: StepsFile = {
    schema_version: 1,
    index: entry.index,
    key: entry.key,
    attempts: [...attempts],
  };
  write(join(bundle_dir, "steps.json"), prettyJson(file));
}
