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
    .option(
      "--stop-within <seconds>",
      "after the first stop a step has so long, then it is ended (default: until it ends)",
    )
    .option("--json", "what happens as lines of JSON on standard output")
    .addOption(new Option("--launchd", "exit 0 where a new start is of no use").hideHelp())
    .addHelpText(
      "after",
      `
SIGTERM or Ctrl-C: the running step ends, its job is handed back, exit 0. Once more: the step is ended
now; a service manager, which asks once and then kills, gives --stop-within less than its own limit.
SIGHUP: look at inbox and queue. A job that is handed back goes on where it stopped. Under systemd
(Type=notify, NotifyAccess=all) it says when it is ready, what it does, and for WatchdogSec that it lives.
Exit codes: 0 stopped, 75 another daemon runs this station, 78 the station is not trusted.

Examples:
  touchstoned daemon
  touchstoned daemon --station ~/bench --json`,
    )
    .action(act(() => import("../commands/daemon.ts")));
  program
    .command("status")
    .description("what is wrong, what runs, or why nothing does; jobs and inbox")
    .option("--station <dir>", STATION)
    .option("--json", "everything as JSON")
    .addHelpText(
      "after",
      `
Begins with a line WRONG where a person has to see to something, and without one where everything goes
on by itself. Reads files only and answers at once; touchstoned doctor looks deeper.

Examples:
  touchstoned status
  touchstoned status --json | jq -r '.wrong // .why_idle'`,
    )
    .action(act(() => import("../commands/status.ts")));
  program
    .command("doctor")
    .description("look at everything that has to work, and say what to do where it does not")
    .option("--station <dir>", STATION)
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Looks at Node, the station and its trust, file systems, disks, clock, locks, daemon, inbox, store, runners,
evidence, git, service and logs. Each line is ok, warning or FAILURE, with what to do; the worst stand
last. Changes nothing, whatever it finds, and works where there is no station or a broken one.
Exit codes: 0 nothing failed, 1 something did.

Examples:
  touchstoned doctor
  touchstoned doctor --json | jq -r '.lines[] | select(.level != "ok") | .text'`,
    )
    .action(act(() => import("../commands/doctor.ts")));
  program
    .command("fsck")
    .description("check what the queue promises: nothing lost, nothing twice, every end whole")
    .option("--station <dir>", STATION)
    .option("--json", "the violations as JSON")
    .addHelpText(
      "after",
      `
Looks at the store and at the files beside it, also while a daemon is at work.
Exit codes: 0 nothing is violated, 1 something is; each is a line; 69 there is no store, or it cannot be read.

Examples:
  touchstoned fsck
  touchstoned fsck --json | jq '.violations[].message'`,
    )
    .action(act(() => import("../commands/fsck.ts")));
};
