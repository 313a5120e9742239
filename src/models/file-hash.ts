import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";

export interface HashOptions {
  signal?: AbortSignal | undefined;
  /** Told now and then how many bytes are done. */
  onProgress?: ((bytes: number) => void) | undefined;
}

/** Large reads: a model is tens of gigabytes. */
const CHUNK = 4 * 1024 * 1024;

/** `sha256:HEX` of the bytes of all files, one after the other. Rejects where one cannot be read. */
export async function hashFiles(
  files: readonly string[],
  { signal, onProgress }: HashOptions = {},
): Promise<string> {
  const hash = createHash("sha256");
  let bytes = 0;
  for (const file of files) {
    const stream = createReadStream(file, { highWaterMark: CHUNK, signal });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
      onProgress?.(bytes);
    }
  }
  return `sha256:${hash.digest("hex")}`;
}
