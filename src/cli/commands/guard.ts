import { EXIT } from "../../core/errors.ts";
import { ulidSource } from "../../core/ids.ts";
import { runGuard } from "../../runners/index.ts";
import { usageError } from "../../core/errors.ts";
import type { CommandAction } from "../context.ts";

interface GuardCommandOptions {
  command: string[];
  keepEnv?: string;
}

export const run: CommandAction<GuardCommandOptions> = async ({ command, keepEnv }, context) => {
  const [file, ...args] = command;
  if (file === undefined) throw usageError("_guard needs a program to run");
  // When the parent is dead nobody reads what we say, and that is no reason to die before our work.
  process.stdout.on("error", () => undefined);
  await runGuard({
    file,
    args,
    keep_env: keepEnv?.split(",").filter((name) => name !== ""),
    token: ulidSource(context.clock)(),
    parent: process.stdin,
    signal: context.signal,
    clock: context.clock,
    say: (line) => context.terminal.out(JSON.stringify(line)),
  });
  return EXIT.done;
};
