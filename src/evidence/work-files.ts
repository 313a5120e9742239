import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensureDir } from "../core/files.ts";
import { systemErrorCode, errorMessage } from "../core/errors.ts";
import { confine } from "../station/index.ts";
import type { CommitFile } from "./git-commit.ts";

export type Placed =
  | { undo: () => void; reason: null }
  /** What stands there in their place; nothing was written. */
  | { undo: null; reason: string };

function sameText(path: string, text: string): boolean {
  try {
    return readFileSync(path, "utf8") === text;
  } catch {
    return false;
  }
}

/** Whole or not at all, and never over something. Not synced: what is durable is in git by then. */
function createWhole(path: string, text: string): void {
  const temporary = join(dirname(path), `.touchstoned-${randomBytes(6).toString("hex")}.tmp`);
  writeFileSync(temporary, text, { flag: "wx", mode: 0o644 });
  try {
    linkSync(temporary, path);
  } finally {
    unlinkSync(temporary);
  }
}

/** Takes the directories away that are empty now, up to (not including) `root`. */
function removeEmpty(root: string, directory: string): void {
  for (let at = directory; at !== root && at.startsWith(root); at = dirname(at)) {
    try {
      rmdirSync(at);
    } catch {
      return; // somebody else has something in it
    }
  }
}

/**
 * Puts the files into the work tree, each whole and never over something that is there. Trouble with
 * one takes those away again that were made before it. Nothing is written through a link that leads
 * out of the station.
 */
export function placeFiles(root: string, files: readonly CommitFile[]): Placed {
  const made: string[] = [];
  const undo = (): void => {
    for (const path of made.toReversed()) {
      try {
        unlinkSync(path);
      } catch {
        // It is gone already.
      }
      removeEmpty(root, dirname(path));
    }
  };
  for (const { path, text } of files) {
    try {
      const place = confine(root, path, "evidence");
      if (place !== join(root, path)) {
        undo();
        return { undo: null, reason: `${path}: a symbolic link stands on the way to it` };
      }
      ensureDir(dirname(place));
      createWhole(place, text);
      made.push(place);
    } catch (error) {
      if (systemErrorCode(error) === "EEXIST" && sameText(join(root, path), text)) continue;
      undo();
      const why =
        systemErrorCode(error) === "EEXIST" ? "another file is there" : errorMessage(error);
      return { undo: null, reason: `${path}: ${why}` };
    }
  }
  return { undo, reason: null };
}
