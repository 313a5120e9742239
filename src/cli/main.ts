#!/usr/bin/env node
const [, , ...argv] = process.argv;

if (argv.length === 1 && argv[0] === "--version") {
  // Asked by scripts and installers in loops: nothing else is loaded for it.
  const { packageVersion } = await import("../core/program.ts");
  process.stdout.write(`${packageVersion()}\n`);
} else {
  const { runFast } = await import("./fast.ts");
  // The one place where this program ends itself. Open sockets or timers must not hold it.
  const fast = await runFast(argv);
  if (fast !== undefined) process.exit(fast);
  const { start } = await import("./start.ts");
  process.exit(await start(argv));
}
