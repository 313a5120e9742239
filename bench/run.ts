// `npm run bench [-- --json] [--full]`: one row a measure. Each is a ratio or a share that is measured within
// one run, so that rows of different machines, or of a busy and a quiet hour, can be compared.
import { spawnSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { measureClient } from "./client.ts";
import type { Measure } from "./measure.ts";
import { benchRecorder } from "./recorder.ts";
import { benchSampler } from "./sampler.ts";
import { measureEvidence } from "./evidence.ts";
import { measureIdle } from "./idle.ts";
import { measureRecovery } from "./recovery.ts";
import { measureSlotsAllowed } from "./slots.ts";
import { measureStart } from "./start.ts";
import { benchStore } from "./store.ts";
import { measureTakeUp } from "./take-up.ts";

const json = process.argv.includes("--json");
/** Ten minutes of idling in place of one, and 100,000 jobs waiting. */
const full = process.argv.includes("--full");
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memory_gb: Math.round(totalmem() / 1e9),
  platform: `${process.platform} ${process.arch}`,
  node: process.versions.node,
  /** Tasks that wanted a core before the run began: above zero the machine was not quiet. */
  load_before: loadavg()[0] ?? 0,
};

say("building ...");
const built = spawnSync(
  process.execPath,
  [join(import.meta.dirname, "..", "scripts", "build.ts")],
  {
    stdio: ["ignore", 2, 2],
  },
);
if (built.status !== 0) process.exit(1);

const rows: Measure[] = [];
for (const [what, take] of [
  ["command start", measureStart],
  ["slots allowed", measureSlotsAllowed],
  ["client", measureClient],
  ["sampler", () => benchSampler()],
  ["probe samples", () => benchRecorder()],
  ["store", () => benchStore({ full })],
  ["taking up", measureTakeUp],
  ["evidence", measureEvidence],
  ["recovery", measureRecovery],
  ["idle daemon", () => measureIdle({ full })],
] as const) {
  say(`measuring: ${what} ...`);
  rows.push(...(await take()));
}

if (json) {
  console.log(JSON.stringify({ machine, measures: rows }, null, 2));
} else {
  const { cpu, cores, memory_gb, platform, node, load_before } = machine;
  console.log(
    `${cpu}, ${cores} cores, ${memory_gb} GB, ${platform}, Node ${node}, load ${load_before.toFixed(1)}`,
  );
  for (const { name, value, unit, goal, met, note = "" } of rows) {
    const shown = value === null ? "-" : value.toPrecision(3);
    const verdict = met === null ? "not measured" : met ? "met" : "MISSED";
    console.log(
      `${name.padEnd(34)} ${shown.padStart(7)} ${unit.padEnd(14)} goal ${goal.padEnd(7)} ${verdict.padEnd(12)} ${note}`,
    );
  }
}
