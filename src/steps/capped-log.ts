import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

/** The end of an output that is kept whatever its length: the cause of a failure stands there. */
const TAIL_BYTES = 64 * 1024;

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

  constructor(path: string, max_bytes = 5_000_000) {
    this.path = path;
    this.#max_bytes = max_bytes;
    this.fd = openSync(path, "a+", 0o644);
    // Earlier invocations wrote to the same file.
    this.#start = fstatSync(this.fd).size;
  }

  #read(from: number, to: number): Buffer {
    const start = Math.max(0, from);
    const bytes = Buffer.alloc(Math.max(0, to - start));
    const count = readSync(this.fd, bytes, 0, bytes.length, start);
    return bytes.subarray(0, count);
  }

  /** Takes the middle out where the file has grown beyond its limit. */
  trim(): void {
    const { size } = fstatSync(this.fd);
    if (size <= this.#max_bytes) return;
    const tail = this.#read(size - TAIL_BYTES, size);
    const head_bytes = Math.floor(this.#max_bytes / 2);
    try {
      ftruncateSync(this.fd, head_bytes);
      const left_out = size - head_bytes - tail.length;
      writeSync(this.fd, `\n[... ${left_out} bytes left out ...]\n`);
      writeSync(this.fd, tail);
    } catch {
      // A full disk costs the log and nothing else.
    }
  }

  /** Text of the end of what this invocation wrote, without colours. */
  tail(): string {
    const { size } = fstatSync(this.fd);
    const from = Math.max(size - TAIL_BYTES, this.#start <= size ? this.#start : 0);
    return stripVTControlCharacters(this.#read(from, size).toString("utf8"));
  }

  /** Text of the end of the file, whoever wrote it. */
  whole(): string {
    const { size } = fstatSync(this.fd);
    return stripVTControlCharacters(this.#read(size - TAIL_BYTES, size).toString("utf8"));
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
