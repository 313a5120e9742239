import { closeSync, openSync, readSync } from "node:fs";

/**
 * A file of /proc or /sys that is read again and again. The descriptor is kept: opening costs more
 * than reading, and an open `/proc/PID` file never shows another process that got the same number.
 */
export class KeptFile {
  readonly #path: string;
  #fd: number | undefined;
  #buffer: Buffer;

  /** `size`: what one read takes at first, in bytes; it grows where the file turns out longer. */
  constructor(path: string, size = 4096) {
    this.#path = path;
    this.#buffer = Buffer.allocUnsafe(size);
  }

  /** The whole content. Throws the system's error; the next read opens the file anew. */
  read(): string {
    for (;;) {
      const length = this.#fill();
      if (length < this.#buffer.length) return this.#buffer.toString("latin1", 0, length);
      this.#buffer = Buffer.allocUnsafe(this.#buffer.length * 2);
    }
  }

  /** The beginning of the content, as much as the buffer holds. */
  readHead(): string {
    const length = this.#fill();
    return this.#buffer.toString("latin1", 0, length);
  }

  #fill(): number {
    try {
      this.#fd ??= openSync(this.#path, "r");
      return readSync(this.#fd, this.#buffer, 0, this.#buffer.length, 0);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
