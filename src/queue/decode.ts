import { inputError } from "../core/errors.ts";

/** Largest queue file. A bigger one is somebody's data set or log. */
export const MAX_QUEUE_FILE_BYTES = 256 * 1024;

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return "UTF-16";
  // Text in Latin letters has a zero in every other byte when it is UTF-16 without a mark.
  return bytes.subarray(0, 200).includes(0) ? "UTF-16 or no text at all" : "not UTF-8";
}

function lineOfBadByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let start = 0;
  let line = 1;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    try {
      decoder.decode(bytes.subarray(start, end));
    } catch {
      return line;
    }
    start = end + 1;
    line += 1;
  }
  return line;
}

/** The text of a queue file. Throws an input error where size or encoding cannot be right. */
export function decodeQueueFile(bytes: Uint8Array, file: string): string {
  if (bytes.length === 0) throw inputError(`${file}: the file is empty`, "Was it saved?", "empty");
  if (bytes.length > MAX_QUEUE_FILE_BYTES) {
    throw inputError(
      `${file}: ${bytes.length} bytes, more than ${MAX_QUEUE_FILE_BYTES} (256 KiB)`,
      "Split it into several files.",
      "too_big",
    );
  }
  const hint = "Save it as UTF-8.";
  if (bytes.subarray(0, 200).includes(0)) {
    throw inputError(`${file}: the text is ${encodingOf(bytes)}`, hint, "bad_encoding");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const encoding = encodingOf(bytes);
    const where = encoding === "not UTF-8" ? `${file}:${lineOfBadByte(bytes)}` : file;
    throw inputError(`${where}: the text is ${encoding}`, hint, "bad_encoding");
  }
}
