import type { Command } from "commander";
import type { Act, Declare } from "../program.ts";
import { group } from "./group.ts";

export const declareSlotsAllowed: Declare = (program, act) => {
  const slots = group(program, "slots", "how many requests this device can serve at once");
  slots
    .command("allowed")
    .description("how many requests scripts may send at once: one number, from evidence")
    .option(
      "--runner <name>",
      "a runner of machine.yaml (default: local_models.runner, the only one)",
    )
    .option("--model <id>", "model as the runner calls it (default: local_models.model)")
    .option("--strict", "exit 3 where a declared number is refused")
    .option("--json", "print one JSON document")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText(
      "after",
      `
Prints one number and nothing else on standard output, and why it is that one on standard error.
Whatever is unknown, unmeasured, stale or in doubt makes it 1. local_models.concurrent_runs of
touchstoned.yaml says what is asked for: 1 (nothing is looked at), a number, or measured.

A runner that does not answer for a moment moves nothing: what it said at most 10 minutes ago, in
this boot, still counts.

Examples:
  touchstoned slots allowed
  xargs -P "$(touchstoned slots allowed --model llama3.2)" -n 1 ./ask.sh < prompts.txt
  touchstoned slots allowed --json | jq .reason`,
    )
    .action(act(() => import("../commands/slots-allowed.ts")));
  slots
    .command("run")
    .description("run a command in one of the slots that are allowed")
    .argument("<command...>", "the command and its arguments, after --")
    .option("--wait <seconds>", "wait so long for a slot (default: do not wait)")
    .option("--runner <name>", "a runner of machine.yaml")
    .option("--model <id>", "model that the command sends its requests to")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText(
      "after",
      `
The command's own exit status is passed on (128 + n where signal n ended it; 127 not found, 126 not
executable). Exit code 75: no slot is free, or something is being measured. The slot is given back
when the command ends or this process dies, by whatever; on Linux the command then gets a SIGTERM.
Whoever waits to measure is let in before new commands are.

Examples:
  touchstoned slots run -- ./ask.sh "a question"
  touchstoned slots run --wait 600 --model llama3.2 -- ollama run llama3.2 "a question"`,
    )
    .action(act(() => import("../commands/slots-run.ts")));
  declareCare(slots, act);
};

/** What is said about the slots, asked for, and set. */
function declareCare(slots: Command, act: Act): void {
  slots
    .command("status")
    .description(
      "why the number is what it is: evidence, slots in use, requests, what waits for git",
    )
    .option("--runner <name>", "a runner of machine.yaml")
    .option("--model <id>", "model as the runner calls it")
    .option("--json", "print one JSON document")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText("after", "\nExample:\n  touchstoned slots status --json | jq .leases")
    .action(act(() => import("../commands/slots-status.ts")));
  slots
    .command("request")
    .description("ask for a measurement of a model with a runner")
    .option("--runner <name>", "a runner of machine.yaml")
    .option("--model <id>", "model as the runner calls it")
    .option("--reason <text>", "why, for whoever reads it")
    .option("--json", "print one JSON document")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText(
      "after",
      `
\`slots allowed\` asks by itself where a measurement would help. The first reason stays.

Example:
  touchstoned slots request --model llama3.2 --reason "new driver"`,
    )
    .action(act(() => import("../commands/slots-request.ts")));
  slots
    .command("apply")
    .description("give the Ollama of this machine so many slots, and start it again")
    .argument("[slots]", "how many; refused where they were not measured")
    .option("--undo", "put everything back as it was before the first apply")
    .option("--dry-run", "only show what would be done")
    .option("--force", "also where they were not measured")
    .option("--runner <name>", "a runner of machine.yaml")
    .option("--model <id>", "model whose evidence counts")
    .option("--station <dir>", "the station (default: the nearest touchstoned.yaml)")
    .addHelpText(
      "after",
      `
Never done by itself. macOS: the variable OLLAMA_NUM_PARALLEL in launchd, and the app started again.
Linux: a drop-in of ollama.service, of the system or of the user. Every step is shown before the first
one is done. Exit codes: 3 not measured, 69 it cannot be set, 75 something is being measured.

Examples:
  touchstoned slots apply 2 --dry-run
  touchstoned slots apply 2
  touchstoned slots apply --undo`,
    )
    .action(act(() => import("../commands/slots-apply.ts")));
}
