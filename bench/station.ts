import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The built program: what people run. */
export const MAIN = join(import.meta.dirname, "..", "dist", "cli", "main.js");

const PACK = {
  id: "bench",
  title: "Bench",
  scale: { "1": "bad", "2": "poor", "3": "fair", "4": "good", "5": "great" },
  dimensions: [{ id: "d", name: "D" }],
  categories: [{ id: "c", name: "C", prompts: [{ id: "p", prompt: "Hello.", max_tokens: 8 }] }],
};

function answer(response: ServerResponse, path: string): void {
  if (path === "/v1/models") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: [{ id: "bench", max_model_len: 4096 }] }));
    return;
  }
  if (path !== "/v1/chat/completions") {
    response.writeHead(404).end();
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  const piece = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ model: "bench", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  response.end(`${piece({ content: "Hello" }, null)}${piece({}, "stop")}data: [DONE]\n\n`);
}

async function startServer(): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response, request.url ?? ""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

export interface RunningDaemon {
  pid: number;
  /** From its start to the moment at which it says that it runs. */
  started_after_ms: number;
  stop(): Promise<void>;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

/** A station of its own in a temporary directory, with a server that answers at once. */
export class BenchStation {
  readonly home: string;
  readonly root: string;
  readonly env: Record<string, string | undefined>;
  readonly #server: Server;

  private constructor(home: string, server: Server, url: string, min_age_s: number) {
    this.home = home;
    this.#server = server;
    this.root = join(home, "station");
    this.env = {
      ...process.env,
      HOME: home,
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_STATE_HOME: join(home, "state"),
      XDG_CACHE_HOME: join(home, "cache"),
      TOUCHSTONED_STATION: "",
      TOUCHSTONED_LOCK: join(home, "model.lock"),
    };
    const config = join(home, "config", "touchstoned");
    mkdirSync(config, { recursive: true, mode: 0o700 });
    mkdirSync(join(this.root, "inbox"), { recursive: true });
    const machine = {
      trusted_stations: [this.root],
      limits: { min_free_disk_mb: 0 },
      power: { keep_awake: "never" },
      runners: [{ name: "local", kind: "openai", url }],
    };
    writeFileSync(join(config, "machine.yaml"), JSON.stringify(machine), { mode: 0o600 });
    const policy = `schema_version: 1\ninbox:\n  min_age_seconds: ${min_age_s}\n`;
    writeFileSync(join(this.root, "touchstoned.yaml"), policy);
    writeFileSync(join(this.root, "pack.json"), JSON.stringify(PACK));
  }

  static async make(min_age_s: number): Promise<BenchStation> {
    const { server, url } = await startServer();
    const home = mkdtempSync(join(tmpdir(), "touchstoned-bench-"));
    return new BenchStation(home, server, url, min_age_s);
  }

  get state_dir(): string {
    const base = join(this.home, "state", "touchstoned");
    return join(base, readdirSync(base).find((name) => name.startsWith("station-")) ?? "");
  }

  async daemon(): Promise<RunningDaemon> {
    const started_ms = performance.now();
    const child: ChildProcess = spawn(process.execPath, [MAIN, "daemon"], {
      cwd: this.root,
      env: this.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = once(child, "close");
    if (child.stderr === null || child.pid === undefined) throw new Error("no daemon");
    const said: string[] = [];
    const up = new Promise<number>((resolve, reject) => {
      const lines = createInterface({ input: child.stderr ?? process.stdin });
      lines.on("line", (line) => {
        said.push(line);
        if (/^daemon of .* runs as/.test(line)) resolve(performance.now() - started_ms);
      });
      child.once("close", () => reject(new Error(`the daemon ended: ${said.join("\n")}`)));
    });
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      child.kill(signal);
      await ended;
    };
    const started_after_ms = await up;
    return {
      pid: child.pid,
      started_after_ms,
      stop: () => end("SIGTERM"),
      kill: () => end("SIGKILL"),
    };
  }

  /** Drops a queue file of one entry; returns its path. */
  drop(name: string, quant: string): string {
    const entries = [{ model: { id: "bench", quant }, pack: "pack.json" }];
    const part = join(this.root, "inbox", `.${name}.part`);
    const path = join(this.root, "inbox", name);
    writeFileSync(part, JSON.stringify({ entries }));
    renameSync(part, path);
    return path;
  }

  /** Names in `inbox/done`. */
  done(): string[] {
    try {
      return readdirSync(join(this.root, "inbox", "done"));
    } catch {
      return []; // nothing yet
    }
  }

  /**
   * Wall clock at which the daemon noted the number of the step that runs: its process exists by
   * then. Undefined where none runs.
   */
  stepSince(): number | undefined {
    const path = join(this.state_dir, "running.json");
    try {
      const { mtimeMs } = statSync(path);
      const { root } = JSON.parse(readFileSync(path, "utf8")) as { root: object | null };
      // Replaced between the two calls: the next look sees the new one.
      return root === null || statSync(path).mtimeMs !== mtimeMs ? undefined : mtimeMs;
    } catch {
      return undefined; // no step runs
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
    rmSync(this.home, { recursive: true, force: true });
  }
}
