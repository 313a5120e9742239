// What .ci/run does once the dependencies are there: each stage by its npm script, with its time.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** The fast ones first, so that a slip of the pen does not cost ten minutes. */
const STAGES = ["format:check", "lint", "types", "unused", "test"];

const begun = performance.now();
const failed: string[] = [];
for (const stage of STAGES) {
  const started = performance.now();
  process.stdout.write(`\n== npm run ${stage}\n`);
  const run = spawnSync("npm", ["run", "--silent", stage], { cwd: root, stdio: "inherit" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const outcome = run.status === 0 ? "ok" : `FAILED (${run.status ?? run.signal})`;
  process.stdout.write(`== ${stage}: ${outcome}, ${seconds} s\n`);
  if (run.status !== 0) failed.push(stage);
}
const total = ((performance.now() - begun) / 1000).toFixed(0);
process.stdout.write(
  failed.length === 0 ? `\nall well, ${total} s\n` : `\nfailed: ${failed.join(", ")}; ${total} s\n`,
);
process.exit(failed.length === 0 ? 0 : 1);
