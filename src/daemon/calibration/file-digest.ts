import { statSync } from "node:fs";
import { join } from "node:path";
import { inputError } from "../../core/errors.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { prettyJson } from "../../core/json.ts";
import { hashFiles } from "../../models/index.ts";

type Known = Record<string, { mark: string; sha256: string }>;

function readKnown(path: string): Known {
  try {
    const value: unknown = JSON.parse(readTextIfThere(path) ?? "{}");
    return typeof value === "object" && value !== null ? (value as Known) : {};
  } catch {
    return {}; // half a file: hashed again
  }
}

/** Where it lies, how large it is and when it was written: another mark may be another file. */
export function fileMark(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined) throw inputError(`there is no file ${path}`);
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

/** The digest of a file that was read before and has not changed since; null where there is none. */
export function knownDigest(state_dir: string, path: string): string | null {
  const known = readKnown(join(state_dir, "slots", "digests.json"))[path];
  try {
    return known?.mark === fileMark(path) ? known.sha256 : null;
  } catch {
    return null; // it is not there any more
  }
}

/**
 * SHA-256 of a model's file in hex. Reading tens of gigabytes takes minutes, so it is kept in
 * `state_dir/slots/digests.json` until size, time or inode change.
 */
export async function fileDigest(
  state_dir: string,
  path: string,
  options: { signal?: AbortSignal | undefined; note: (text: string) => void },
): Promise<string> {
  const cache = join(state_dir, "slots", "digests.json");
  const mark = fileMark(path);
  const known = readKnown(cache)[path];
  if (known?.mark === mark) return known.sha256;
  options.note("reading the model's file for its digest");
  const text = await hashFiles([path], { signal: options.signal });
  const sha256 = text.replace(/^sha256:/, "");
  ensureDir(join(state_dir, "slots"), 0o700);
  const next: Known = { ...readKnown(cache), [path]: { mark, sha256 } };
  writeFileAtomic(cache, prettyJson(next), 0o600);
  return sha256;
}
