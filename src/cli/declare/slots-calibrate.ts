import type { Declare } from "../program.ts";
import { group } from "./group.ts";

const collect = (value: string, before: string[]): string[] => [...before, value];

export const declareSlotsCalibrate: Declare = (program, act) => {
  group(program, "slots", "how many requests this device can serve at once, and the proof of it")
    .command("calibrate")
    .description("measure how many requests a runner can serve at once, and write the evidence")
    .option(
      "--runner <name>",
      "a runner of machine.yaml (default: local_models.runner, the only one)",
    )
    .option("--model <id>", "model as the runner calls it (default: local_models.model)")
    .option("--corpus <file>", "what is sent (default: the station's own, drawn from its runs)")
    .option("--context <tokens>", "context of each slot (default: that of machine.yaml)")
    .option("--max-tokens <n>", "longest answer", "512")
    .option("--if-requested", "do nothing unless `slots allowed` asked for a measurement")
    .option("--budget <time>", "stop after so long (2h, 90m); run again to go on")
    .option("--extra <n@context>", "also report N slots of CONTEXT tokens; not judged", collect, [])
    .option(
      "--production-sampling [temperature]",
      "also report the number with answers drawn as in production; not judged",
    )
    .option("--lock-wait <seconds>", "wait so long for the model lock", "0")
    .option("--station <dir>", "the station (default: the nearest one)")
    .option("--json", "the outcome as JSON on standard output")
    .addHelpText(
      "after",
      `
Starts a runner of its own beside the one in production, on a port of its own; the one in production
is neither restarted nor changed, and must hold no model meanwhile. Takes the model lock. How such a
runner is started stands in machine.yaml (runners[].calibration; Ollama needs nothing).

What was measured is kept after each step: interrupted, killed or out of time, the same command goes
on where it was. The evidence is signed and committed to evidence/ of the station.

Exit codes: 0 measured, or not asked for; 1 too noisy for an answer, or something failed; 3 it cannot
or may not be measured here (a runner on another host, a context too small for the corpus: the answer
stays 1); 64 no corpus; 75 not now (the lock is held, another runner holds a model), or not finished
yet: run it again.

Examples:
  touchstoned slots calibrate --corpus corpus.json
  touchstoned slots calibrate --runner ollama --model llama3.2 --context 8192 --budget 2h
  touchstoned slots calibrate --if-requested --json | jq .verdict.recommended
  touchstoned slots calibrate --corpus corpus.json --extra 2@32768
  touchstoned slots calibrate --corpus corpus.json --production-sampling 0.7`,
    )
    .action(act(() => import("../commands/slots-calibrate.ts")));
};
