import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is removed when the running test ends. Call it inside a test. */
export function tempDir(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "touchstoned-test-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
