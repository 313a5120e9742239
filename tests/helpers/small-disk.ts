import { execFileSync } from "node:child_process";
import { mkdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { tempDir } from "./temp-dir.ts";

/** A file system of a few megabytes; undefined where this user may not mount one. */
export function smallDisk(): string | undefined {
  const path = join(tempDir(), "disk");
  mkdirSync(path);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", path], {
      stdio: "pipe",
    });
  } catch (error) {
    if (process.env["TOUCHSTONED_REQUIRE_FULL_DISK"] === "1") throw error;
    console.error(
      "[tests] ***** NO SMALL FILE SYSTEM CAN BE MOUNTED: NO TEST OF A FULL DISK *****",
    );
    return undefined;
  }
  onTestFinished(() => void execFileSync("umount", ["-l", path]));
  return path;
}

/** Leaves nothing free on a file system. */
export function fill(path: string): void {
  const { bavail, bsize } = statfsSync(path);
  for (let size = bavail * bsize; size >= 1; size = Math.floor(size / 2)) {
    try {
      writeFileSync(join(path, `filler-${size}`), Buffer.alloc(size));
    } catch {
      // Half of it may still fit.
    }
  }
}
