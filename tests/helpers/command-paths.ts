import { runProgram } from "../../src/cli/program.ts";
import type { CommandContext } from "../../src/cli/context.ts";
import { FakeClock } from "./fake-clock.ts";

/** What `--help` of one command says. */
async function helpOf(path: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const context: CommandContext = {
    terminal: {
      interactive: false,
      out: (text) => void lines.push(text),
      err: (text) => void lines.push(text),
      json: () => {},
      status: () => {},
      style: (_format, text) => text,
    },
    clock: new FakeClock(),
    env: {},
    cwd: "/",
    signal: new AbortController().signal,
    takeSignals: () => undefined,
  };
  await runProgram([...path, "--help"], context);
  return lines.join("\n");
}

function section(help: string, title: string): string {
  return new RegExp(`^${title}:\\n((?:(?: .*)?\\n?)*)`, "m").exec(help)?.[1] ?? "";
}

/**
 * Every command of the program as `--help` shows it, `lock run` for the second level, with the long
 * options that it takes. The program itself is `""`.
 */
export async function commandPaths(path: readonly string[] = []): Promise<Map<string, string[]>> {
  const help = await helpOf(path);
  const options = [...section(help, "Options").matchAll(/^ {2}(?:-\w, )?(--[a-z][a-z-]*)/gm)];
  const own = options.map(([, option = ""]) => option);
  const found = new Map([[path.join(" "), own]]);
  for (const [, name = ""] of section(help, "Commands").matchAll(/^ {2}([a-z][a-z-]*)/gm)) {
    if (name === "help") continue;
    for (const [key, value] of await commandPaths([...path, name])) found.set(key, value);
  }
  return found;
}
