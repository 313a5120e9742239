import type { Declare } from "../program.ts";

export const declareConfig: Declare = (program, act) => {
  const config = program
    .command("config")
    .description("show or check the two configuration files")
    .addHelpText(
      "after",
      `
touchstoned.yaml says what a station wants, and is committed. machine.yaml says what may run on this
machine, and is yours alone.

Example:
  touchstoned config show --origin`,
    );
  config
    .command("show")
    .description("every setting that holds in this station")
    .option("--origin", "say where each value comes from")
    .option("--station <dir>", "the station (default: the nearest one)")
    .option("--json", "as JSON, origins included")
    .addHelpText(
      "after",
      `
Examples:
  touchstoned config show --origin
  touchstoned config show --json | jq '.[] | select(.key == "lock_path").value'`,
    )
    .action(act(() => import("../commands/config-show.ts")));
  config
    .command("check")
    .description("list everything that is wrong in touchstoned.yaml and machine.yaml")
    .option("--station <dir>", "the station (default: the nearest one)")
    .option("--json", "as JSON")
    .addHelpText(
      "after",
      `
Exit code 0: nothing is wrong; 78: something is, all of it is listed.

Examples:
  touchstoned config check
  touchstoned config check --station ~/benchmarks --json`,
    )
    .action(act(() => import("../commands/config-check.ts")));
};
