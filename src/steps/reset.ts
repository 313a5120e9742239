import type { Clock } from "../core/clock.ts";
import { runCommand } from "../core/process.ts";
import type { ResetRecord } from "../queue/index.ts";
import type { Runner } from "../runners/index.ts";

/** A reset command that takes longer hangs; unloading takes seconds. */
const RESET_LIMIT_S = 120;

export interface ResetOptions {
  /** Program and arguments; empty = none; null = the runner's own unload. */
  command: readonly string[] | null;
  runner: Pick<Runner, "unload">;
  clock: Clock;
  run?: typeof runCommand;
  signal?: AbortSignal;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}

async function runReset(command: readonly string[], options: ResetOptions) {
  const [file = "", ...args] = command;
  const result = await (options.run ?? runCommand)(file, args, {
    timeout_s: RESET_LIMIT_S,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (result.ok) return { outcome: "ok" as const, reason: null };
  const said = lastLine(result.stderr) || lastLine(result.stdout);
  const why = result.timed_out
    ? `no end after ${RESET_LIMIT_S} s`
    : (result.error ?? `exit ${result.exit_code ?? result.signal}`);
  const reason = `${command.join(" ")}: ${why}${said === "" ? "" : `: ${said}`}`;
  return { outcome: "failed" as const, reason };
}

/** Asks that all models leave the memory. Failure is the caller's warning; nothing is thrown. */
export async function resetModels(options: ResetOptions): Promise<ResetRecord> {
  const start_ms = options.clock.monotonic_ms();
  const duration_s = (): number => (options.clock.monotonic_ms() - start_ms) / 1000;
  if (options.command === null) {
    const result = await options.runner.unload();
    return { ...result, how: "unload", duration_s: duration_s() };
  }
  if (options.command.length === 0) {
    return { outcome: "skipped", how: "none", reason: "switched off", duration_s: 0 };
  }
  const result = await runReset(options.command, options);
  return { ...result, how: "command", duration_s: duration_s() };
}
