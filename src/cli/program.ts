import { Command, CommanderError } from "commander";
import { EXIT, type ExitCode } from "../core/errors.ts";
import { packageVersion } from "../core/program.ts";
import type { CommandAction, CommandContext } from "./context.ts";
import type { Terminal } from "./render.ts";
import { declareCompletion } from "./declare/completion.ts";
import { declareConfig } from "./declare/config.ts";
import { declareDaemon } from "./declare/daemon.ts";
import { declareEval } from "./declare/eval.ts";
import { declareEvidence } from "./declare/evidence.ts";
import { declareIdleHours } from "./declare/idle-hours.ts";
import { declareInit } from "./declare/init.ts";
import { declareJudge } from "./declare/judge.ts";
import { declareLock } from "./declare/lock.ts";
import { declareModel } from "./declare/model.ts";
import { declareOpenStation } from "./declare/open-station.ts";
import { declareQueue } from "./declare/queue.ts";
import { declareRunner } from "./declare/runner.ts";
import { declareSampler } from "./declare/sampler.ts";
import { declareService } from "./declare/service.ts";
import { declareSlotsCalibrate } from "./declare/slots-calibrate.ts";
import { declareSlotsCorpus } from "./declare/slots-corpus.ts";
import { declareSlotsAllowed } from "./declare/slots-allowed.ts";
import { declareStep } from "./declare/step.ts";
import { declareTakeUp } from "./declare/take-up.ts";

/**
 * Ties a declared command to its module, which is loaded only when the command is really run:
 * `act(() => import("./commands/eval.ts"))`. The module exports `run`.
 */
export type Act = <Options>(
  load: () => Promise<{ run: CommandAction<Options> }>,
) => (...args: unknown[]) => Promise<void>;

/** Declares one command, or a family of them, on the program. */
export type Declare = (program: Command, act: Act) => void;

/** One declaration a file, in the order in which `--help` shows them. */
const DECLARATIONS: readonly Declare[] = [
  declareInit,
  declareConfig,
  declareDaemon,
  declareService,
  declareRunner,
  declareQueue,
  declareEval,
  declareJudge,
  declareSlotsAllowed,
  declareSlotsCorpus,
  declareSlotsCalibrate,
  declareEvidence,
  declareModel,
  declareLock,
  declareCompletion,
  declareSampler,
  declareStep,
  declareTakeUp,
  declareOpenStation,
  declareIdleHours,
];

/** Under which heading `--help` shows a command; what is not named stands under "Commands:". */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Set up:": ["init", "config", "runner", "install", "uninstall", "upgrade", "completion"],
  "The daemon:": ["daemon", "start", "stop", "restart", "logs"],
  "Look after it:": ["status", "doctor", "fsck"],
  "Benchmarks:": ["queue", "eval", "judge", "model"],
  "Requests at once:": ["slots", "evidence"],
  "Your own scripts:": ["lock"],
};

const AFTER = `
First steps:
  touchstoned init ~/bench && cd ~/bench     # a station; then declare a runner in machine.yaml
  touchstoned doctor                         # what is missing, and what to do about it
  touchstoned queue submit inbox/examples/night.yaml
  touchstoned daemon

touchstoned COMMAND --help says more of each, with examples; man touchstoned has it all.
Exit codes: 0 done, 1 something failed, 2 usage, 3 refused, 64 bad input file, 69 runner or store not
there, 75 busy, try later, 78 bad configuration.`;

/** The whole program as it is declared; `act` ties each command to what it does. */
export function buildProgram(act: Act, terminal: Pick<Terminal, "out" | "err">): Command {
  const program = new Command("touchstoned")
    .description(
      "Runs local language model benchmarks unattended and measures what this device can serve.",
    )
    .version(packageVersion(), "--version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text.trimEnd()),
    })
    .showHelpAfterError("(add --help for the options)");
  for (const declare of DECLARATIONS) declare(program, act);
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of program.commands) {
      if (names.includes(command.name())) command.helpGroup(heading);
    }
  }
  const help = new Command("help").argument("[command]").helpOption(false);
  help.description("the same as COMMAND --help").helpGroup("Look after it:");
  return program.addHelpCommand(help).addHelpText("after", AFTER);
}

/** Parses `argv` (without program and script), runs what it asks for, gives the exit code. */
export async function runProgram(
  argv: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const act: Act =
    (load) =>
    async (...args) => {
      // commander hands over the positional arguments, then the options, then the command itself.
      const command = args.at(-1) as Command;
      const positional = Object.fromEntries(
        command.registeredArguments.map((argument, i) => [argument.name(), args[i]]),
      );
      const module = await load();
      const options: Record<string, unknown> = command.optsWithGlobals();
      Object.assign(options, positional);
      exitCode = await module.run(options as never, context);
    };
  const program = buildProgram(act, context.terminal);
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return exitCode;
}
