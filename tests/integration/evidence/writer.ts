// One of many that write evidence into one repository at the same time; a process of its own.
// Arguments: home, root, state directory, mode, minute of its evidence.
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../src/core/clock.ts";
import {
  commitOutbox,
  deviceKey,
  EvidenceBook,
  type CommitMode,
} from "../../../src/evidence/index.ts";
import { SAMPLE_CREATED_MS, sampleEvidence } from "../../helpers/sample-evidence.ts";

const [home = "", root = "", state_dir = "", mode = "", minutes = ""] = process.argv.slice(2);
const created_ms = SAMPLE_CREATED_MS + Number(minutes) * 60_000;
const evidence = sampleEvidence(state_dir, { created_ms });
const { path } = new EvidenceBook(state_dir, deviceKey(state_dir)).write(evidence);
process.stdout.write("ready\n");
while (!existsSync(`${home}/go`)) await delay(5);
const report = await commitOutbox({
  root,
  state_dir,
  mode: mode as CommitMode,
  env: { HOME: home, PATH: process.env["PATH"] },
  clock: systemClock,
  random: Math.random,
});
process.stdout.write(`${JSON.stringify({ path, ...report })}\n`);
