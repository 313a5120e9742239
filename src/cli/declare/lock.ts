import type { Declare } from "../program.ts";

export const declareLock: Declare = (program, act) => {
  const lock = program
    .command("lock")
    .description("the lock that whatever loads a model on this machine takes")
    .addHelpText(
      "after",
      `
One lock for the whole machine: daemon, eval, judge and calibrate take it, and your own scripts may.

Examples:
  touchstoned lock status
  touchstoned lock run -- ./bench.sh`,
    );
  lock
    .command("run")
    .description("run a command while holding the model lock")
    .argument("<command...>", "the command and its arguments, after --")
    .option("--wait <seconds>", "wait so long for the lock (default: do not wait)")
    .addHelpText(
      "after",
      `
The command's own exit status is passed on (128 + n where signal n ended it; 127 not found, 126 not
executable). Exit code 75: the lock is not free. The command gets the lock as descriptor 3, so it is
held as long as the command lives, whatever becomes of touchstoned.

Examples:
  touchstoned lock run -- ./bench.sh --all
  touchstoned lock run --wait 3600 -- ollama run llama3.2
  flock -x "$(touchstoned lock status --json | jq -r .path)" ./bench.sh   # the same without us`,
    )
    .action(act(() => import("../commands/lock-run.ts")));
  lock
    .command("status")
    .description("who holds the model lock, since when, and which file it is")
    .option("--json", "as JSON")
    .addHelpText("after", "\nExample:\n  touchstoned lock status --json")
    .action(act(() => import("../commands/lock-status.ts")));
};
