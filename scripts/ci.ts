// What .ci/run does once the dependencies are there: each stage by its npm script, with its time.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countedIn, countLine } from "./count-reporter.ts";

const root = join(import.meta.dirname, "..");

/** The fast ones first, so that a slip of the pen does not cost ten minutes. */
const STAGES = ["format:check", "lint", "types", "unused", "test", "test:system"];

const scratch = mkdtempSync(join(tmpdir(), "touchstoned-ci-"));
const counts = join(scratch, "counts");
const env = { ...process.env, TOUCHSTONED_COUNT_FILE: counts };

const begun = performance.now();
const failed: string[] = [];
for (const stage of STAGES) {
  const started = performance.now();
  process.stdout.write(`\n== npm run ${stage}\n`);
  const run = spawnSync("npm", ["run", "--silent", stage], { cwd: root, stdio: "inherit", env });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const outcome = run.status === 0 ? "ok" : `FAILED (${run.status ?? run.signal})`;
  process.stdout.write(`== ${stage}: ${outcome}, ${seconds} s\n`);
  if (run.status !== 0) failed.push(stage);
}
const total = ((performance.now() - begun) / 1000).toFixed(0);
process.stdout.write(
  failed.length === 0 ? `\nall well, ${total} s\n` : `\nfailed: ${failed.join(", ")}; ${total} s\n`,
);
process.stdout.write(`${countLine(...countedIn(counts))}\n`);
rmSync(scratch, { recursive: true });
process.exit(failed.length === 0 ? 0 : 1);
