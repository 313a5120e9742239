import { TouchstonedError, type ExitCode } from "../core/errors.ts";
import { wallClock } from "../core/wall-clock.ts";
import { shown } from "./shown.ts";

interface FastCommand {
  words: readonly string[];
  /** Options without a value, and with one. */
  flags: readonly string[];
  values: readonly string[];
}

/** What is asked for many times a minute. */
const STATUS: FastCommand = { words: ["status"], flags: ["json"], values: ["station"] };
const ALLOWED: FastCommand = {
  words: ["slots", "allowed"],
  flags: ["json", "strict"],
  values: ["station", "runner", "model"],
};

type Options = Record<string, string | boolean>;

/** The options of exactly such a call; undefined for everything else. */
function optionsOf(command: FastCommand, argv: readonly string[]): Options | undefined {
  const { words, flags, values } = command;
  if (!words.every((word, at) => argv[at] === word)) return undefined;
  const options: Options = {};
  for (let at = words.length; at < argv.length; at += 1) {
    const word = argv[at] ?? "";
    const name = word.startsWith("--") ? word.slice(2) : "";
    const value = argv[at + 1];
    if (flags.includes(name)) options[name] = true;
    else if (values.includes(name) && value !== undefined) {
      options[name] = value;
      at += 1;
    } else return undefined;
  }
  return options;
}

/**
 * Runs what is asked for many times a minute without the command-line library, which costs more than
 * the answer. Undefined for everything that is not exactly such a call; the library sees to it then,
 * to mistakes as well.
 */
export async function runFast(
  argv: readonly string[],
  write: (stream: 1 | 2, line: string) => void,
): Promise<ExitCode | undefined> {
  const command = [STATUS, ALLOWED].find((one) => one.words.every((word, at) => argv[at] === word));
  const options = command === undefined ? undefined : optionsOf(command, argv);
  if (options === undefined) return undefined;
  const { run } =
    command === STATUS
      ? await import("./commands/status.ts")
      : await import("./commands/slots-allowed.ts");
  try {
    return await run(options, {
      env: process.env,
      cwd: process.cwd(),
      clock: wallClock,
      terminal: {
        out: (text) => write(1, options["json"] === true ? text : shown(text)),
        err: (text) => write(2, shown(text)),
      },
    });
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    write(2, `error: ${shown(error.message)}`);
    if (error.hint !== undefined) write(2, `hint: ${shown(error.hint)}`);
    return error.exitCode;
  }
}
