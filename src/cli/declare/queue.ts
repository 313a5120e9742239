import type { Declare } from "../program.ts";

export const declareQueue: Declare = (program, act) => {
  const queue = program
    .command("queue")
    .description("run queue files: which models to measure, on what, one after the other");
  queue
    .command("run")
    .description("run a queue file in the foreground, under the model lock")
    .argument("[file]", "queue file (YAML or JSON); may be left out with --resume")
    .option("--resume <dir>", "go on with an earlier run: what is finished is not run again")
    .option("--lock-wait <seconds>", "wait so long for the model lock (default: do not wait)")
    .option("--runner <name>", "runner of the entries that name none themselves")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .option("--json", "the summary as JSON on standard output")
    .addHelpText(
      "after",
      `
Each entry: reset, settle, load, eval, and judge where one is asked for. Ctrl-C ends the running step
and says how to resume; once more ends at once.
Exit codes: 0 all entries ok, 1 any other, 64 something in the file is wrong, 75 the model lock is
held.

Examples:
  touchstoned queue run inbox/examples/night.yaml
  touchstoned queue run night.yaml --runner local --lock-wait 600
  touchstoned queue run --resume RUN_DIRECTORY
  touchstoned queue run night.yaml --json | jq '.entries[] | [.model_id, .status]'`,
    )
    .action(act(() => import("../commands/queue-run.ts")));
  queue
    .command("check")
    .description("prove the chain before a night: each model resets, loads, speaks and unloads")
    .argument("<file>", "queue file (YAML or JSON)")
    .option("--lock-wait <seconds>", "wait so long for the model lock (default: do not wait)")
    .option("--runner <name>", "runner of the entries that name none themselves")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .option("--json", "the report as JSON on standard output")
    .addHelpText(
      "after",
      `
Exit codes: 0 every model can be measured, 1 at least one cannot, 64 something in the file is wrong,
75 the model lock is held.

Example:
  touchstoned queue check night.yaml && touchstoned queue run night.yaml`,
    )
    .action(act(() => import("../commands/queue-check.ts")));
};
