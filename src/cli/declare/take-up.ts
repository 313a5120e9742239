import type { Declare } from "../program.ts";

export const declareTakeUp: Declare = (program, act) => {
  program
    .command("_take-up", { hidden: true })
    .description("parses one queue file for the daemon; request and answer are lines of JSON")
    .action(act(() => import("../commands/take-up.ts")));
};
