#!/usr/bin/env node
// The entry. It has to start under any Node, to say that one is too old: what it imports is built
// in or as plain as this file, and everything else comes in by `import()` further down.
import { packageVersion } from "../core/program.ts";

/** Major and minor of the oldest Node that will do: `engines` in package.json. */
const OLDEST_NODE = [22, 22] as const;

const [, , ...argv] = process.argv;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  process.stderr.write(
    `touchstoned needs Node ${OLDEST_NODE.join(".")} or newer; this is ${process.versions.node} (${process.execPath}).\n`,
  );
  process.exit(78);
}
// Imported, node:fs would cost a fifth of Node's own start: it brings streams and more along.
const { writeSync } = process.getBuiltinModule("node:fs");
if (argv.length === 1 && argv[0] === "--version") {
  // Asked by scripts and installers in loops. Setting up process.stdout alone would cost a tenth
  // of what Node needs to start.
  writeSync(1, `${packageVersion()}\n`);
} else {
  if (argv[0] === "daemon") {
    // Before anything was compiled for speed.
    const { staySmall } = await import("../core/small-heap.ts");
    staySmall();
  }
  const { runFast } = await import("./fast.ts");
  // The one place where this program ends itself. Open sockets or timers must not hold it.
  const fast = await runFast(argv, (stream, line) => {
    try {
      writeSync(stream, `${line}\n`);
    } catch (error) {
      // A closed pipe or a full disk behind it; what a script asked for and never got is no success.
      const why = error instanceof Error ? error.message : String(error);
      if (stream !== 2) writeSync(2, `error: the answer could not be written: ${why}\n`);
      process.exit(1);
    }
  });
  if (fast !== undefined) process.exit(fast);
  const { keepCompiledCode } = await import("../core/compile-cache.ts");
  keepCompiledCode(process.env);
  const { start } = await import("./start.ts");
  const code = await start(argv);
  // launchd starts again whatever ends otherwise than with 0, also what only a person can mend.
  const given_up =
    argv[0] === "daemon" && argv.includes("--launchd") && (code === 64 || code === 78);
  process.exit(given_up ? 0 : code);
}
