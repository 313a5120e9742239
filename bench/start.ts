import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { measure, quantile, type Measure } from "./measure.ts";

const MAIN = join(import.meta.dirname, "..", "dist", "cli", "main.js");
const ROUNDS = 40;

/**
 * Start of the built program against the start of Node alone, taken in turns so that whatever else
 * the machine does hits both. The medians are compared.
 */
export async function measureStart(): Promise<Measure[]> {
  const commands = { node: ["-e", "0"], version: [MAIN, "--version"], help: [MAIN, "--help"] };
  const taken_ms: Record<keyof typeof commands, number[]> = { node: [], version: [], help: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ["node", "version", "help"] as const) {
      const started = performance.now();
      const run = spawnSync(process.execPath, commands[name], {
        stdio: ["ignore", "pipe", "pipe"],
      });
      taken_ms[name].push(performance.now() - started);
      if (run.status !== 0) throw new Error(`${commands[name].join(" ")} ended with ${run.status}`);
    }
  }
  const node_ms = quantile(taken_ms.node, 0.5);
  const ratio = (name: keyof typeof commands): number => quantile(taken_ms[name], 0.5) / node_ms;
  const note = `node -e 0 took ${node_ms.toFixed(0)} ms`;
  return [
    measure("version_start_ratio", ratio("version"), "x node -e 0", 1.3, note),
    measure("help_start_ratio", ratio("help"), "x node -e 0", 3, note),
  ];
}
