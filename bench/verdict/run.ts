// `npm run bench:verdict [-- --json] [--devices N] [--seed S]`: devices whose truth is known, measured by the very
// engine that measures real ones, through its interfaces and under a virtual clock; the rule of thumb beside it.
import { parseArgs } from "node:util";
import { rowsOf, tableOf } from "./report.ts";
import { trial } from "./simulate.ts";
import type { Trial } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    devices: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    wrong: { type: "boolean", default: false },
  },
});
const devices = Number(values.devices);
const seed = Number(values.seed);
const begun = performance.now();
const trials: Trial[] = [];
for (let index = 0; index < devices; index++) {
  trials.push(await trial(seed * 1_000_000 + index));
  if (index % 250 === 249) process.stderr.write(`${index + 1} of ${devices} devices ...\n`);
}
const seconds = (performance.now() - begun) / 1000;
const rows = rowsOf(trials);
if (values.json) {
  console.log(JSON.stringify({ devices, seed, seconds, rows }, null, 2));
} else {
  console.log(`${devices} simulated devices, seed ${seed}, ${seconds.toFixed(0)} s`);
  console.log(tableOf(rows));
}
if (values.wrong) {
  for (const one of trials.filter(
    (t) => t.method.wrong_high || (t.method.missed && t.truth.noise <= 0.08),
  )) {
    const { curve, fault, fault_at, noise, flips } = one.truth;
    console.log(
      `${one.seed} ${one.method.wrong_high ? "HIGH" : "missed"} ${curve}/${fault}@${fault_at} noise ${noise.toFixed(3)} flips ${flips.toFixed(3)}: truly ${one.truly}, ${one.reason}`,
    );
  }
}
