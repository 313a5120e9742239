import type { Declare } from "../program.ts";

export const declareOpenStation: Declare = (program, act) => {
  program
    .command("_open-station", { hidden: true })
    .description("reads and checks a station's configuration; answers with a line of JSON")
    .option("--station <dir>")
    .action(act(() => import("../commands/open-station.ts")));
};
