#!/usr/bin/env node
import { packageVersion } from "../core/program.ts";

const [, , ...argv] = process.argv;

if (argv.length === 1 && argv[0] === "--version") {
  // Asked by scripts and installers in loops: nothing else is loaded for it.
  process.stdout.write(`${packageVersion()}\n`);
} else {
  const { start } = await import("./start.ts");
  // The one place where this program ends itself. Open sockets or timers must not hold it.
  process.exit(await start(argv));
}
