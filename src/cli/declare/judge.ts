import type { Declare } from "../program.ts";

export const declareJudge: Declare = (program, act) => {
  program
    .command("judge")
    .description("let a model score the answers of a finished eval")
    .requiredOption("--bundle <dir>", "the bundle that eval left")
    .requiredOption("--judge-config <file>", "the judge's settings")
    .option("--judge-model <model>", "the judge's name at its runner, instead of the config's")
    .option("--runner <name>", "a runner of machine.yaml, instead of the config's")
    .option("--lock-wait <seconds>", "wait so long for the model lock", "0")
    .option("--station <dir>", "the station (default: the nearest one, or none)")
    .option("--json", "the outcome as JSON on stdout")
    .addHelpText(
      "after",
      `
Writes judgements.jsonl, reports.jsonl, scores.csv, result.json and scorecard.md into the bundle.
Run it again to go on: what this judge decided is kept, what could not be read or failed is asked
again. Another judge (model, runner, version or settings) starts anew; the work of the first is set
aside in judgements-HASH.jsonl and taken up again when that judge comes back.

Exit code 0: judged; answers of which no verdict could be read are unscored and counted; 1: calls
failed that another try may cure; 64: the bundle is not whole; 69: the judge is not there or stopped
answering, then there are no scores; 75: something else holds the model lock.

Examples:
  touchstoned judge --bundle runs/2026-01-15T20-00-00Z_eval_basics_tiny --judge-config judge.yaml
  touchstoned judge --bundle DIR --judge-config judge.yaml --judge-model big --runner desktop
  touchstoned judge --bundle DIR --judge-config judge.yaml --json | jq '.groups[].quality.pct'`,
    )
    .action(act(() => import("../commands/judge.ts")));
};
