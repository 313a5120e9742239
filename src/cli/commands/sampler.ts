import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import { createHostSampler, runSamplerLoop } from "../../probes/index.ts";
import type { CommandContext } from "../context.ts";

export interface SamplerOptions {
  out: string;
  invocation: string;
  serverPid?: string;
}

function pidOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const pid = Number(text);
  if (!Number.isInteger(pid) || pid < 1) throw usageError(`--server-pid ${text} is no process id`);
  return pid;
}

/**
 * Ctrl-C at a terminal reaches the whole process group. What measures decides then when the
 * sampling ends, by closing our input; only SIGTERM is meant for this process alone.
 */
function terminated(signal: AbortSignal): AbortSignal {
  const stop = new AbortController();
  const look = (): void => {
    if (signal.reason === "SIGTERM") stop.abort();
  };
  signal.addEventListener("abort", look, { once: true });
  if (signal.aborted) look();
  return stop.signal;
}

export async function run(options: SamplerOptions, context: CommandContext): Promise<ExitCode> {
  const sampler = createHostSampler({ server_pid: pidOf(options.serverPid), clock: context.clock });
  await runSamplerLoop({
    path: options.out,
    invocation: options.invocation,
    sampler,
    clock: context.clock,
    input: process.stdin,
    say: (message) => context.terminal.out(JSON.stringify(message)),
    signal: terminated(context.signal),
  });
  return EXIT.done;
}
