import { allCommands, outlineOf } from "../../src/cli/outline.ts";
import { buildProgram } from "../../src/cli/program.ts";

/**
 * Every command of the program as `--help` shows it, `lock run` for the second level, with the long
 * options that it takes. The program itself is `""`.
 */
export async function commandPaths(): Promise<Map<string, string[]>> {
  const silent = { out: () => undefined, err: () => undefined };
  const program = buildProgram(() => async () => undefined, silent);
  return new Map(
    allCommands(outlineOf(program)).map(({ path, options }) => [
      path.join(" "),
      options.map(({ long }) => long),
    ]),
  );
}
