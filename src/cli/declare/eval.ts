import type { Declare } from "../program.ts";

export const declareEval: Declare = (program, act) => {
  program
    .command("eval")
    .description("ask one model everything in a pack and keep answers, times and memory")
    .option("--model <model>", "the model's name at its runner, or a model spec as JSON")
    .option("--pack <file>", "the pack of prompts")
    .option("--runner <name>", "a runner of machine.yaml (default: the only one)")
    .option("--config <file>", "an eval config (limits, order, breaker)")
    .option("--run-dir <dir>", "where the bundle goes; nothing may have been answered there yet")
    .option("--resume <dir>", "go on with a bundle; its model, pack and runner are used")
    .option("--out <dir>", "directory for a new bundle with a name of its own")
    .option("--lock-wait <seconds>", "wait so long for the model lock", "0")
    .option("--station <dir>", "the station (default: the nearest one, or none)")
    .option("--json", "the outcome as JSON on stdout")
    .addHelpText(
      "after",
      `
Needs no daemon and no database. Exit code 0: every cell has an answer, or an error that would come
again; 1: errors remain that another try may cure (go on with --resume), or the model is not served;
69: the runner is not there or stopped answering; 75: something else holds the model lock.

Examples:
  touchstoned eval --model tiny --pack packs/basics.yaml
  touchstoned eval --model '{"id": "qwen3:8b", "extra_body": {"think": false}}' --pack p.yaml --runner ollama
  touchstoned eval --resume runs/2026-01-15T20-00-00Z_eval_basics_tiny
  touchstoned eval --model tiny --pack p.yaml --json | jq .cells_failed`,
    )
    .action(act(() => import("../commands/eval.ts")));
};
