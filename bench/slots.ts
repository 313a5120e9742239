import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { locateState } from "../src/station/light.ts";
import { measure as measureSlots } from "../tests/helpers/measured.ts";
import { measure, quantile, type Measure } from "./measure.ts";
import { MAIN } from "./station.ts";

const ROUNDS = 40;

/** What the answer is about; `/props` of llama-server says it. */
const SERVER = {
  kind: "llama-server",
  version: "b1-bench",
  model: { id: "bench", digest: null },
  context_per_slot: 4096,
};

async function production(): Promise<{ server: Server; url: string }> {
  const props = {
    total_slots: 4,
    build_info: SERVER.version,
    model_alias: SERVER.model.id,
    default_generation_settings: { n_ctx: SERVER.context_per_slot },
  };
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(props));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A trusted station that goes by what is measured, in a home of its own. */
function station(home: string, url: string) {
  const root = join(home, "station");
  const config = join(home, "config", "touchstoned");
  mkdirSync(root);
  mkdirSync(config, { recursive: true, mode: 0o700 });
  const machine = {
    trusted_stations: [root],
    runners: [{ name: "local", kind: SERVER.kind, url }],
  };
  writeFileSync(join(config, "machine.yaml"), JSON.stringify(machine), { mode: 0o600 });
  writeFileSync(join(root, "touchstoned.yaml"), "local_models: {concurrent_runs: measured}\n");
  const env = {
    ...process.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_STATE_HOME: join(home, "state"),
    TOUCHSTONED_STATION: "",
  };
  return { root, env };
}

/**
 * `slots allowed` of the built program against the start of Node alone, taken in turns, with evidence
 * that holds and a runner that answers.
 */
export async function measureSlotsAllowed(): Promise<Measure[]> {
  const { server, url } = await production();
  const home = mkdtempSync(join(tmpdir(), "touchstoned-bench-"));
  try {
    const { root: cwd, env } = station(home, url);
    await measureSlots(locateState({ explicit: cwd, env, cwd }).state_dir, SERVER);
    const timed = async (args: readonly string[]): Promise<{ ms: number; said: string }> => {
      const started = performance.now();
      const child = spawn(process.execPath, args, {
        cwd,
        env,
        stdio: ["ignore", "pipe", "ignore"],
      });
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
      await once(child, "close");
      return { ms: performance.now() - started, said };
    };
    const taken_ms = { node: [] as number[], allowed: [] as number[] };
    const slow = await timed([MAIN, "slots", "allowed"]);
    for (let round = 0; round < ROUNDS; round += 1) {
      taken_ms.node.push((await timed(["-e", "0"])).ms);
      const { ms, said } = await timed([MAIN, "slots", "allowed"]);
      if (said !== "2\n") throw new Error(`slots allowed said ${JSON.stringify(said)}`);
      taken_ms.allowed.push(ms);
    }
    const node_ms = quantile(taken_ms.node, 0.5);
    const note = `node -e 0 took ${node_ms.toFixed(0)} ms; ${slow.ms.toFixed(0)} ms without a snapshot`;
    const ratio = quantile(taken_ms.allowed, 0.5) / node_ms;
    return [measure("slots_allowed_start_ratio", ratio, "x node -e 0", 2, note)];
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}
