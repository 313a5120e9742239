import type { Declare } from "../program.ts";

export const declareStep: Declare = (program, act) => {
  program
    .command("_step", { hidden: true })
    .description("one step of an entry, started by `queue run` with the model lock")
    .argument("<kind>", "load, eval or judge")
    .requiredOption("--job <file>", "what to do")
    .action(act(() => import("../commands/step.ts")));
};
