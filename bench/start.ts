import { spawnSync } from "node:child_process";
import { measure, quantile, type Measure } from "./measure.ts";
import { BenchStation, MAIN } from "./station.ts";

const ROUNDS = 40;

type Name = "node" | "version" | "help" | "status";

/**
 * Start of the built program against the start of Node alone, taken in turns so that whatever else
 * the machine does hits both. The medians are compared.
 */
export async function measureStart(): Promise<Measure[]> {
  const station = await BenchStation.make(30);
  try {
    const daemon = await station.daemon();
    const rows = startsOf(station);
    await daemon.stop();
    return rows;
  } finally {
    await station.close();
  }
}

function startsOf({ root: cwd, env }: BenchStation): Measure[] {
  const commands = {
    node: ["-e", "0"],
    version: [MAIN, "--version"],
    help: [MAIN, "--help"],
    status: [MAIN, "status"],
  };
  const names = ["node", "version", "help", "status"] as const;
  const taken_ms = { node: [], version: [], help: [], status: [] } as Record<Name, number[]>;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of names) {
      const started = performance.now();
      const stdio = ["ignore", "pipe", "pipe"] as const;
      const run = spawnSync(process.execPath, commands[name], { cwd, env, stdio: [...stdio] });
      taken_ms[name].push(performance.now() - started);
      if (run.status !== 0) throw new Error(`${commands[name].join(" ")} ended with ${run.status}`);
    }
  }
  const node_ms = quantile(taken_ms.node, 0.5);
  const ratio = (name: Name): number => quantile(taken_ms[name], 0.5) / node_ms;
  const note = `node -e 0 took ${node_ms.toFixed(0)} ms`;
  return [
    measure("version_start_ratio", ratio("version"), "x node -e 0", 1.3, note),
    measure("help_start_ratio", ratio("help"), "x node -e 0", 3, note),
    measure("status_start_ratio", ratio("status"), "x node -e 0", 2, `${note}; beside a daemon`),
  ];
}
