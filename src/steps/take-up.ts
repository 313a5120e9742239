import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { fileKey, realDisk, type SeenFile } from "../core/disk.ts";
import { errorMessage, inputError, systemErrorCode, TouchstonedError } from "../core/errors.ts";
import { slug } from "../core/text.ts";
import { sha256Hex } from "../core/json.ts";
import {
  decodeQueueFile,
  parseQueueFile,
  type FileKind,
  type FileLook,
  type LookedModel,
  type QueueContext,
  type QueueFile,
} from "../queue/index.ts";
import type { Loaders } from "./rooms.ts";

/** A file that entries name, as it was when the queue file was taken up. */
export interface TakenInput {
  kind: FileKind;
  /** As the queue file writes it. */
  path: string;
  sha256: string;
  /** Where the copy is, relative to the submission. */
  copy: string;
  /** Of a pack: its id. */
  pack_id: string | null;
}

export interface TakenUp {
  file: QueueFile;
  bytes: Buffer;
  /** Of the bytes. */
  sha256: string;
  inputs: TakenInput[];
  /** Bytes of the copies, by their path. */
  contents: Map<string, Buffer>;
  warnings: string[];
  /** All that was read beside the queue file; null where more than files decided. */
  seen: SeenFile[] | null;
}

/** What is collected while the queue file is parsed. */
type Collected = Pick<TakenUp, "inputs" | "contents" | "warnings" | "seen">;

const WHAT: Record<FileKind, string> = {
  config: "eval config",
  pack: "pack",
  judge_config: "judge config",
  model: "model disk file",
};

/** The bytes of a queue file. Throws an input error where there are none to be had. */
export function readQueueFile(path: string): Buffer {
  try {
    // A named pipe would be waited for, for ever.
    if (!statSync(path).isFile()) {
      throw inputError(`${path}: is not a regular file`, "Give a queue file.", "not_a_file");
    }
    return readFileSync(path);
  } catch (error) {
    if (error instanceof TouchstonedError) throw error;
    const code = systemErrorCode(error) ?? "unknown error";
    const message = code === "ENOENT" ? "no such queue file" : `cannot be read (${code})`;
    throw inputError(`${path}: ${message}`, "Check the path.", "no_such_file");
  }
}

function keyAt(real: string): string | null {
  const stat = realDisk.lstat(real);
  return stat === undefined ? null : fileKey(stat);
}

/** What the loaders have in common. */
interface Loaded {
  sha256: string;
  id?: string;
  runner?: string | null;
  warnings?: string[];
  model?: LookedModel;
}

function lookAt(
  loaders: Loaders,
  resolve: (kind: FileKind, path: string) => string,
  taken: Collected,
): QueueContext["look"] {
  return (kind, path): FileLook => {
    try {
      const real = resolve(kind, path);
      const key = keyAt(real);
      const loaded: Loaded = loaders[kind](real, path);
      const bytes = readFileSync(real);
      if (sha256Hex(bytes) !== loaded.sha256) {
        return { ok: false, message: `${path}: changed while it was read, or is not UTF-8` };
      }
      // A model's drift is judged by files that are not read here, and by when.
      if (kind === "model" || key === null || keyAt(real) !== key) taken.seen = null;
      else taken.seen?.push({ path, real, key });
      const copy = join("inputs", `${loaded.sha256.slice(0, 12)}-${slug(basename(path))}`);
      const pack_id = loaded.id ?? null;
      taken.inputs.push({ kind, path, sha256: loaded.sha256, copy, pack_id });
      taken.contents.set(copy, bytes);
      taken.warnings.push(...(loaded.warnings ?? []));
      return {
        ok: true,
        sha256: loaded.sha256,
        runner: loaded.runner ?? null,
        ...(loaded.model === undefined ? {} : { model: loaded.model }),
      };
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
      // In brackets and inside of another sentence.
      const hint = error.hint === undefined ? "" : ` (${error.hint.replace(/\.$/, "")})`;
      return { ok: false, message: `${errorMessage(error).replaceAll("\n", "; ")}${hint}` };
    }
  };
}

/**
 * Reads a queue file and everything that it names, and checks all of it now: a fault in a pack that
 * shows after hours costs the night. `resolve` says where a named file is.
 */
export function takeUp(
  path: string,
  bytes: Buffer,
  context: Omit<QueueContext, "look">,
  loaders: Loaders,
  resolve: (kind: FileKind, path: string) => string = (kind, named) =>
    kind === "model" ? loaders.confineModel(named, WHAT[kind]) : loaders.confine(named, WHAT[kind]),
): TakenUp {
  const taken: Collected = { inputs: [], contents: new Map(), warnings: [], seen: [] };
  const text = decodeQueueFile(bytes, path);
  const look = lookAt(loaders, resolve, taken);
  const file = parseQueueFile(text, path, { ...context, look });
  return { file, bytes, sha256: sha256Hex(bytes), ...taken };
}
