import type { Declare } from "../program.ts";
import { group } from "./group.ts";

export const declareSlotsCorpus: Declare = (program, act) => {
  group(program, "slots", "how many requests this device can serve at once, and the proof of it")
    .command("corpus")
    .description("draw a sample of your own work to measure with")
    .option("--pool <files...>", "request logs: JSON lines of OpenAI's or Ollama's interface")
    .option("--from-runs [dir]", "bundles in DIR (default: those of the station)")
    .option("--pack <file>", "the prompts of a pack")
    .requiredOption("--out <file>", "where the corpus goes; it holds the prompts")
    .option("--segments <n>", "exactly so many (default: up to 128, at least 59)")
    .option("--segment-length <turns>", "consecutive turns (default: the longest of 3, 2, 1)")
    .option("--strata <tokens>", "lower edges of strata of depth", "1024,4096,16384,32768")
    .option("--min-per-stratum <n>", "segments that each stratum gets at least", "2")
    .option("--seed <n>", "another seed, another sample", "1")
    .option("--allow-shared-prefix", "several segments of one conversation; not independent")
    .option("--station <dir>", "the station (default: the nearest one, or none)")
    .option("--json", "what was drawn as JSON on standard output")
    .addHelpText(
      "after",
      `
Give one of --pool, --from-runs and --pack. The same pool, options and seed give the same file, byte
for byte. A fidelity verdict needs 59 segments that share no beginning.
Exit codes: 0 drawn, 2 usage, 64 the pool cannot be read or is too small (what is missing is said).

Examples:
  touchstoned slots corpus --from-runs --out corpus.json
  touchstoned slots corpus --pool requests.jsonl --out corpus.json --strata 8192,32768
  touchstoned slots corpus --pack packs/office-basics.yaml --segments 12 --out small.json --json`,
    )
    .action(act(() => import("../commands/slots-corpus.ts")));
};
