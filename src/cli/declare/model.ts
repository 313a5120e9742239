import type { Declare } from "../program.ts";
import { group } from "./group.ts";

export const declareModel: Declare = (program, act) => {
  group(program, "model", "model disk files: what a model is, for queue files and claims")
    .command("describe")
    .description("write a model disk file from the header of a GGUF file")
    .argument("<file>", "GGUF file; of a split model, any part")
    .option("--out <file>", "where the model disk file goes (default: standard output)")
    .option("--name <name>", "the model's name at its runner (default: the file's)")
    .option("--context <tokens>", "context of a slot where nothing else is said (default: 4096)")
    .option("--json", "the description, its path and its memory as JSON on standard output")
    .addHelpText(
      "after",
      `
Reads the whole file once, for its hash. Nothing is loaded and no runner is asked.
Exit codes: 0 described, 2 usage, 64 not a GGUF model, or damaged.

Examples:
  touchstoned model describe /models/qwen3-8b-q4_k_m.gguf --out models/qwen3-8b.json
  touchstoned model describe tiny.gguf --name tiny:latest --context 16384 --out tiny.json
  touchstoned model describe tiny.gguf --json | jq .memory`,
    )
    .action(act(() => import("../commands/model-describe.ts")));
};
