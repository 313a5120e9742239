import { createHash } from "node:crypto";
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, extname, join } from "node:path";
import { configError, errorMessage } from "../../core/errors.ts";
import { ensureDir, syncDir, writeFileAtomic } from "../../core/files.ts";
import { packageFile, packageVersion } from "../../core/program.ts";
import { placePackages, type PlacedPackage } from "./packages.ts";
import type { Places } from "./places.ts";
import { textOf } from "./text-of.ts";

/** Beside what is in every package: what of ours runs, and what it reads. */
const OURS = ["package.json", "data", "schemas", "packs", "installers", "LICENSE", "CHANGELOG.md"];

/** In each copy: the digest of what it was made of. */
const SEAL = ".touchstoned-copy";

export interface ProgramSource {
  /** Name and version of the package. */
  version: string;
  /** Every file, by its path in the copy, with where it comes from. */
  files: Map<string, string>;
  /** SHA-256 over all of them. */
  digest: string;
}

function walk(from: string, to: string, files: Map<string, string>): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const { name } = entry;
    const path = join(from, name);
    if (entry.isDirectory()) {
      // Other packages have places of their own.
      if (name !== "node_modules" && name !== ".git") walk(path, join(to, name), files);
      // Also what is behind a link: the copy stands alone.
    } else if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) {
      files.set(join(to, name), path);
    }
  }
}

function addProgram({ from }: PlacedPackage, files: Map<string, string>): void {
  // Compiled or from its sources: this file's own ending says which.
  const code = extname(import.meta.url) === ".ts" ? "src" : "dist";
  for (const name of [code, ...OURS]) {
    const path = join(from, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) walk(path, name, files);
    else if (stats !== undefined) files.set(name, path);
  }
}

function digestOf(files: ReadonlyMap<string, string>): string {
  const hash = createHash("sha256");
  for (const [to, from] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content = createHash("sha256").update(readFileSync(from)).digest("hex");
    hash.update(`${content} ${to}\n`);
  }
  return hash.digest("hex");
}

/** The program that runs now, with everything that it needs. Throws (78) where something is missing. */
export function programSource(root = packageFile("")): ProgramSource {
  const files = new Map<string, string>();
  try {
    for (const one of placePackages(root)) {
      if (one.to === "") addProgram(one, files);
      else walk(one.from, one.to, files);
    }
  } catch (error) {
    throw configError(
      `the program cannot be copied from ${root}: ${errorMessage(error)}`,
      "In a clone, `npm ci` brings what it needs.",
      "incomplete_program",
    );
  }
  return { version: packageVersion(), files, digest: digestOf(files) };
}

function sealOf(directory: string): string | undefined {
  return textOf(join(directory, SEAL))?.trim();
}

/** Name of the directory for this program: its version, and a part of its digest for a second one of it. */
export function copyName(source: ProgramSource, { versions }: Pick<Places, "versions">): string {
  const { version, digest } = source;
  const seal = sealOf(join(versions, version));
  if (seal === digest || !existsSync(join(versions, version))) return version;
  return `${version}+${digest.slice(0, 8)}`;
}

/** True where exactly this program lies there already, whole. */
export function isCopied(source: ProgramSource, places: Pick<Places, "versions">): boolean {
  return sealOf(join(places.versions, copyName(source, places))) === source.digest;
}

function copyInto(directory: string, { files }: ProgramSource): void {
  const made = new Set<string>();
  for (const [to, from] of files) {
    const path = join(directory, to);
    const parent = dirname(path);
    if (!made.has(parent)) {
      mkdirSync(parent, { recursive: true, mode: 0o755 });
      made.add(parent);
    }
    copyFileSync(from, path, constants.COPYFILE_FICLONE);
    // Whatever the umask, and whoever it was copied from: others may have to run it.
    chmodSync(path, (statSync(from).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

/** Directories between `top` and the files get the mode that a umask may have taken from them. */
function openDirectories(top: string): void {
  chmodSync(top, 0o755);
  for (const entry of readdirSync(top, { withFileTypes: true })) {
    if (entry.isDirectory()) openDirectories(join(top, entry.name));
  }
}

/**
 * Copies the program beside other versions. What is under the final name is whole: it gets that name
 * last. Returns the name.
 */
export function copyProgram(source: ProgramSource, places: Pick<Places, "versions">): string {
  const { versions } = places;
  const name = copyName(source, places);
  if (isCopied(source, places)) return name;
  ensureDir(versions);
  const [target, half] = [join(versions, name), join(versions, `.new-${name}`)];
  rmSync(half, { recursive: true, force: true });
  try {
    copyInto(half, source);
    openDirectories(half);
    writeFileAtomic(join(half, SEAL), `${source.digest}\n`);
    // What has that name and another seal is of a copy that was changed by hand, or never ended.
    rmSync(target, { recursive: true, force: true });
    renameSync(half, target);
  } catch (error) {
    rmSync(half, { recursive: true, force: true });
    throw error;
  }
  syncDir(versions);
  return name;
}

/** Makes `current` the version `name`, for every reader from one moment to the next. */
export function flip({ current }: Pick<Places, "current">, name: string): void {
  const fresh = `${current}.new`;
  rmSync(fresh, { force: true });
  symlinkSync(join("versions", name), fresh);
  renameSync(fresh, current);
  syncDir(dirname(current));
}

/** Takes away all versions but those named. Returns what went. */
export function pruneVersions(
  { versions }: Pick<Places, "versions">,
  keep: readonly (string | null)[],
): string[] {
  const gone = readdirSync(versions).filter((name) => !keep.includes(name));
  for (const name of gone) rmSync(join(versions, name), { recursive: true, force: true });
  return gone;
}
