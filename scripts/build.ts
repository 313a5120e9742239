// `npm run build`: the published program, compiled into dist/ from nothing; its quick commands one file each.
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundleQuickCommands } from "./bundle.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const compiled = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], {
  stdio: "inherit",
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

await bundleQuickCommands(dist);

// npm makes the commands of a package executable when it installs them; a clone has only this.
const main = join(dist, "cli", "main.js");
if (!readFileSync(main, "utf8").startsWith("#!/usr/bin/env node\n")) {
  throw new Error(`${main} has lost its first line, by which a shell finds Node`);
}
chmodSync(main, 0o755);
process.stderr.write(`built ${dist}\n`);
