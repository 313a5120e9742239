import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { inputError } from "../core/errors.ts";

/** Magic, version, number of tensors, number of metadata entries. */
const HEAD_BYTES = 24;
/** The shortest entry: an empty name, a type and one byte. */
const ENTRY_BYTES = 13;
const KNOWN_VERSIONS = new Set([2, 3]);

/**
 * Refuses, by its first bytes, a file that cannot be a GGUF model: a page saved in its place, a
 * download that was cut at once. A reader of such a file may search it for ever. Throws an input
 * error, or the system's own where the file cannot be read.
 */
export function checkGgufHead(path: string): void {
  const fd = openSync(path, "r");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    const read = readSync(fd, head, 0, HEAD_BYTES, 0);
    if (read >= 4 && head.toString("latin1", 0, 4) !== "GGUF") {
      throw inputError(`${path} is not a GGUF file`);
    }
    if (read < HEAD_BYTES) throw inputError(`${path} ends inside its header`);
    const version = head.readUInt32LE(4);
    if (KNOWN_VERSIONS.has(head.readUInt32BE(4))) {
      throw inputError(
        `${path} is a GGUF file for big-endian machines`,
        "Use the file for this kind of machine; no runner here could load this one.",
      );
    }
    if (!KNOWN_VERSIONS.has(version)) {
      throw inputError(`${path} is a GGUF file of an unknown version (${version})`);
    }
    const entries = Number(head.readBigUInt64LE(8) + head.readBigUInt64LE(16));
    if (entries * ENTRY_BYTES > fstatSync(fd).size) {
      throw inputError(`${path} ends before all that its header announces`);
    }
  } finally {
    closeSync(fd);
  }
}
