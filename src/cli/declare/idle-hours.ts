import type { Declare } from "../program.ts";

export const declareIdleHours: Declare = (program, act) => {
  program
    .command("_calibrate", { hidden: true })
    .description(
      "answers one request for a measurement, started by the daemon; tells by lines of JSON",
    )
    .requiredOption("--station <dir>")
    .requiredOption("--runner <name>")
    .requiredOption("--model <id>")
    .action(act(() => import("../commands/calibrate-unattended.ts")));
  program
    .command("_housekeep", { hidden: true })
    .description("commits evidence, asks for what is about to be stale, removes what is of no use")
    .requiredOption("--station <dir>")
    .action(act(() => import("../commands/housekeep.ts")));
};
