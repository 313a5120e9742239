import { Option } from "commander";
import type { Declare } from "../program.ts";

const STATION = "the station (default: the nearest touchstoned.yaml)";

export const declareDaemon: Declare = (program, act) => {
  program
    .command("daemon")
    .description(
      "take up files from the inbox and run their jobs, one at a time, in the foreground",
    )
    .option("--station <dir>", STATION)
    .option("--json", "what happens as lines of JSON on standard output")
    .option("--stop-within <seconds>", "end a step that runs on so long after the first signal")
    .addOption(new Option("--launchd", "exit 0 where a new start is of no use").hideHelp())
    .addHelpText(
      "after",
      `
SIGTERM or Ctrl-C: the running step ends, its job is handed back, exit 0. Once more: the step is ended
now. SIGHUP: look at inbox and queue. A job that is handed back goes on where it stopped.
Exit codes: 0 stopped, 75 another daemon runs this station, 78 the station is not trusted.

Examples:
  touchstoned daemon
  touchstoned daemon --station ~/bench --json`,
    )
    .action(act(() => import("../commands/daemon.ts")));
  program
    .command("status")
    .description("what runs, or why nothing does; jobs and inbox")
    .option("--station <dir>", STATION)
    .option("--json", "everything as JSON")
    .addHelpText("after", "\nExample:\n  touchstoned status --json | jq -r .why_idle")
    .action(act(() => import("../commands/status.ts")));
  program
    .command("fsck")
    .description("check what the queue promises: nothing lost, nothing twice, every end whole")
    .option("--station <dir>", STATION)
    .option("--json", "the violations as JSON")
    .addHelpText(
      "after",
      "\nExit 1: something is violated; each is a line.\n\nExample:\n  touchstoned fsck",
    )
    .action(act(() => import("../commands/fsck.ts")));
};
