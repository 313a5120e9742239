import type { Declare } from "../program.ts";

export const declareInit: Declare = (program, act) => {
  program
    .command("init")
    .description("make a directory a station and trust it on this machine")
    .argument("[dir]", "the directory; made where it is missing (default: this one)")
    .option("--json", "what was made, as JSON")
    .addHelpText(
      "after",
      `
Makes a git repository where there is none, touchstoned.yaml, two packs, inbox/ with its README and
examples, and the lines of .gitignore that keep queue files out of git; adds the station to
trusted_stations of your machine.yaml (made where it is missing). Nothing that is there is overwritten:
run it again at any time. What is still to do is said by touchstoned doctor.

Examples:
  touchstoned init
  touchstoned init ~/benchmarks`,
    )
    .action(act(() => import("../commands/init.ts")));
};
