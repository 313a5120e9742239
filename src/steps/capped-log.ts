import { closeSync, fstatSync, openSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { readRange, TAIL_BYTES, trimMiddle } from "../core/capped-file.ts";

/** Of the output of a step, or of a runner of ours, in a file. */
export const LOG_MAX_BYTES = 5_000_000;

/**
 * The output of a step in a file of limited size: its beginning, and its end. The step writes to
 * the file itself, so its last words are there even when we are not, and no pipe that a grandchild
 * keeps open can hold us up; `trim` is called now and then.
 */
export class CappedLog {
  readonly path: string;
  /** Open for appending; hand it to the child as its output. */
  readonly fd: number;
  readonly #start: number;
  readonly #max_bytes: number;

  constructor(path: string, max_bytes = LOG_MAX_BYTES) {
    this.path = path;
    this.#max_bytes = max_bytes;
    this.fd = openSync(path, "a+", 0o644);
    // Earlier invocations wrote to the same file.
    this.#start = fstatSync(this.fd).size;
  }

  /** Takes the middle out where the file has grown beyond its limit. */
  trim(): void {
    trimMiddle(this.fd, this.#max_bytes);
  }

  /** Text of the end of what this invocation wrote, without colours. */
  tail(): string {
    const { size } = fstatSync(this.fd);
    const from = Math.max(size - TAIL_BYTES, this.#start <= size ? this.#start : 0);
    return stripVTControlCharacters(readRange(this.fd, from, size).toString("utf8"));
  }

  /** Text of the end of the file, whoever wrote it. */
  whole(): string {
    const { size } = fstatSync(this.fd);
    return stripVTControlCharacters(readRange(this.fd, size - TAIL_BYTES, size).toString("utf8"));
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** Longest cause that goes into a summary; the log has the rest. */
const MAX_CAUSE = 600;

function cut(text: string): string {
  return text.length <= MAX_CAUSE ? text : `${text.slice(0, MAX_CAUSE)} ...`;
}

/**
 * What a step said last: the message and hint of its last error where it has this program's form,
 * else its last three lines. null where it said nothing.
 */
export function causeFrom(output: string): { error: string | null; advice: string | null } {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const at = lines.findLastIndex((line) => line.startsWith("error: "));
  if (at < 0) {
    const last = lines.slice(-3).join(" / ");
    return { error: last === "" ? null : cut(last), advice: null };
  }
  const said = lines.slice(at);
  const hint = said.findIndex((line) => line.startsWith("hint: "));
  const message = (hint < 0 ? said : said.slice(0, hint)).join(" ").slice("error: ".length);
  return { error: cut(message), advice: hint < 0 ? null : cut(said[hint]?.slice(6) ?? "") };
}
