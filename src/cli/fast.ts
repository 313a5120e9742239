import { systemClock } from "../core/clock.ts";
import { TouchstonedError, type ExitCode } from "../core/errors.ts";

/**
 * Runs what is asked for many times a minute without the command-line library, which costs more than
 * the answer. Undefined for everything that is not exactly such a call; the library sees to it then,
 * to mistakes as well.
 */
export async function runFast(
  argv: readonly string[],
  write: (stream: 1 | 2, line: string) => void,
): Promise<ExitCode | undefined> {
  if (argv[0] !== "status") return undefined;
  const options: { station?: string; json?: boolean } = {};
  for (let at = 1; at < argv.length; at += 1) {
    const word = argv[at];
    if (word === "--json") options.json = true;
    else if (word === "--station" && argv[at + 1] !== undefined) {
      options.station = argv[(at += 1)] ?? "";
    } else return undefined;
  }
  const { run } = await import("./commands/status.ts");
  try {
    return await run(options, {
      env: process.env,
      cwd: process.cwd(),
      clock: systemClock,
      terminal: { out: (text) => write(1, text) },
    });
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    write(2, `error: ${error.message}`);
    if (error.hint !== undefined) write(2, `hint: ${error.hint}`);
    return error.exitCode;
  }
}
