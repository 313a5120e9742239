import type { Declare } from "../program.ts";

export const declareRunner: Declare = (program, act) => {
  const runner = program
    .command("runner")
    .description("the model runners that this machine may use")
    .addHelpText(
      "after",
      `
Examples:
  touchstoned runner list
  touchstoned runner probe local
  touchstoned runner probe --url http://127.0.0.1:11434 --kind ollama --json
  touchstoned runner install embedded`,
    );
  runner
    .command("list")
    .description("the runners that machine.yaml declares, and the kinds there are")
    .option("--json", "print one JSON document")
    .addHelpText("after", "\nExample:\n  touchstoned runner list --json | jq -r '.runners[].name'")
    .action(act(() => import("../commands/runner-list.ts")));
  runner
    .command("install")
    .description("install a runner that this program brings along (only: embedded)")
    .argument("<kind>", "which one: embedded")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
The embedded runner is llama.cpp inside a child process of this program: about 25 MB to download
from the npm registry and 83 MB on disk, once per user, without install scripts.

Example:
  touchstoned runner install embedded`,
    )
    .action(act(() => import("../commands/runner-install.ts")));
  runner
    .command("probe")
    .description("ask a runner what it is, what it serves and how many slots it has")
    .argument("[name]", "a runner of machine.yaml; the only one where left out")
    .option("--url <url>", "base URL of a runner that is not declared")
    .option("--kind <kind>", "its kind: llama-server, ollama, openai, embedded")
    .option("--limit <seconds>", "longest wait for an answer", "5")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Exit codes: 0 ready, 69 not there, 75 still loading its model.

Examples:
  touchstoned runner probe
  touchstoned runner probe --url http://127.0.0.1:8080 --kind llama-server`,
    )
    .action(act(() => import("../commands/runner-probe.ts")));
  program
    .command("_guard", { hidden: true })
    .description("runs a server and ends it when standard input ends")
    .argument("<command...>", "program and arguments, after --")
    .option("--keep-env <names>", "the only variables that it may see, parted by commas")
    .action(act(() => import("../commands/guard.ts")));
  program
    .command("_embedded", { hidden: true })
    .description("serves one model with node-llama-cpp by llama-server's interface")
    .requiredOption("--module-dir <dir>", "where node-llama-cpp is installed")
    .requiredOption("--model <file>", "GGUF file")
    .requiredOption("--port <port>", "port on 127.0.0.1")
    .requiredOption("--slots <n>", "requests at once")
    .requiredOption("--context <tokens>", "context of each slot")
    .option("--threads <n>", "threads for computing")
    .action(act(() => import("../commands/embedded.ts")));
};
