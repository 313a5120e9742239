import {
  closeSync,
  existsSync,
  fchmodSync,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { ensureDir } from "./files.ts";

export interface RotatingOptions {
  path: string;
  /** The file is set aside before a line that would make it longer. */
  max_bytes: number;
  /** How many files there are at most, the present one among them. */
  files: number;
  mode: number;
  /** Wall clock, for the names of those that are set aside. */
  now_ms: () => number;
}

const NEWLINE = 0x0a;
/** What follows the name of a file that was set aside. */
const ASIDE = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.\d+$/;

/**
 * A log of limited size. What is full is set aside as `NAME.<utc>.<pid>`, and the oldest of those are
 * removed. Several processes may write to it: each line is one write at the end of whatever file has
 * the name then. Nothing is thrown: a full disk costs the log lines, and its user nothing.
 */
export class RotatingFile {
  readonly #options: RotatingOptions;
  #fd: number | null = null;
  /** A full disk took half a line: the next one must not be glued to it. */
  #torn = false;

  constructor(options: RotatingOptions) {
    this.#options = options;
    this.#try(() => this.#reopen());
  }

  #try(work: () => void): boolean {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  }

  #reopen(): number {
    const { path, mode } = this.#options;
    ensureDir(dirname(path));
    const fd = openSync(path, "a", mode);
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = fd;
    // It may be one of a version that left it to the umask.
    const stats = fstatSync(fd);
    if (stats.isFile() && (stats.mode & 0o777 & ~mode) !== 0) fchmodSync(fd, mode);
    return fd;
  }

  /** The open file, as long as it has the name; another process may have set it aside. */
  #current(): { fd: number; size: number } {
    const named = statSync(this.#options.path, { throwIfNoEntry: false });
    if (this.#fd !== null) {
      const { ino, dev, size } = fstatSync(this.#fd);
      if (named?.ino === ino && named.dev === dev) return { fd: this.#fd, size };
    }
    const fd = this.#reopen();
    return { fd, size: fstatSync(fd).size };
  }

  /** Sorts by time, and no other process gives the same name. */
  #asideName(): string {
    for (let at_ms = this.#options.now_ms(); ; at_ms += 1) {
      const time = new Date(at_ms).toISOString().replaceAll(":", "-");
      const name = `${this.#options.path}.${time}.${process.pid}`;
      if (!existsSync(name)) return name;
    }
  }

  /** Where another process does the same at the same time, its new file is set aside, not lost. */
  #setAside(): void {
    renameSync(this.#options.path, this.#asideName());
    this.#prune();
  }

  #prune(): void {
    const { path, files } = this.#options;
    const start = `${basename(path)}.`;
    const old = readdirSync(dirname(path))
      .filter((name) => name.startsWith(start) && ASIDE.test(name.slice(start.length)))
      .sort();
    for (const name of old.slice(0, Math.max(0, old.length - (files - 1)))) {
      this.#try(() => unlinkSync(join(dirname(path), name)));
    }
  }

  /** Appends a line, which brings its own end. */
  write(line: string): void {
    const bytes = Buffer.from(this.#torn ? `\n${line}` : line, "utf8");
    this.#try(() => {
      let { fd, size } = this.#current();
      if (size > 0 && size + bytes.length > this.#options.max_bytes) {
        this.#try(() => this.#setAside());
        ({ fd } = this.#current());
      }
      let written = 0;
      try {
        while (written < bytes.length) written += writeSync(fd, bytes, written);
      } finally {
        // Nothing of it is as good as all of it.
        if (written > 0) this.#torn = bytes[written - 1] !== NEWLINE;
      }
    });
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}
