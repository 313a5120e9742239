import type { Declare } from "../program.ts";

export const declareSampler: Declare = (program, act) => {
  program
    .command("_sampler", { hidden: true })
    .description("samples the host into a resources.jsonl until its standard input ends")
    .requiredOption("--out <file>", "file to append to")
    .requiredOption("--invocation <id>", "id that is written on every line")
    .option("--server-pid <pid>", "root of the runner's process tree")
    .action(act(() => import("../commands/sampler.ts")));
};
