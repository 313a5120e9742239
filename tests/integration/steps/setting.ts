import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { summarySchema, type Summary } from "../../../src/queue/summary.ts";
import { command, isolatedEnv, startCommand } from "../../helpers/command.ts";
import { GET_LLAMA_SERVER, madeModel, realSettings } from "../../helpers/llama-server.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

export interface PackOptions {
  prompts: number;
  max_tokens: number;
}

export function packText({ prompts, max_tokens }: PackOptions): string {
  const one = (i: number) => ({ id: `p${i}`, prompt: `Tell me about number ${i}.`, max_tokens });
  return JSON.stringify({
    id: "mini",
    title: "Mini",
    scale: { "1": "bad", "2": "poor", "3": "fair", "4": "good", "5": "great" },
    dimensions: [{ id: "d", name: "D" }],
    categories: [
      { id: "c", name: "C", prompts: Array.from({ length: prompts }, (_, i) => one(i)) },
    ],
  });
}

/** A station with a home, a machine.yaml and a lock of its own. */
export class Night {
  readonly home: string;
  readonly root: string;
  readonly env: Record<string, string>;

  constructor(machine: Record<string, unknown>) {
    this.home = tempDir();
    this.root = join(this.home, "station");
    this.env = isolatedEnv(this.home);
    mkdirSync(this.root);
    writeFileSync(join(this.root, "touchstoned.yaml"), "schema_version: 1\n");
    this.writeMachine(machine);
  }

  writeMachine(machine: Record<string, unknown>): void {
    const path = join(this.home, "config", "touchstoned", "machine.yaml");
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const text = JSON.stringify({
      trusted_stations: [this.root],
      limits: { min_free_disk_mb: 0 },
      power: { keep_awake: "never" },
      ...machine,
    });
    writeFileSync(path, text, { mode: 0o600 });
  }

  write(name: string, content: unknown): string {
    const path = join(this.root, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** `touchstoned ARGS` in the station, to its end. */
  run(...args: string[]) {
    return command(args, { cwd: this.root, env: this.env });
  }

  /** The same, still running. */
  start(...args: string[]) {
    const running = startCommand(args, { cwd: this.root, env: this.env });
    onTestFinished(() => void running.child.kill("SIGKILL"));
    return running;
  }

  /** Directories of the submissions so far, oldest first. */
  submissions(runs_dir?: string): string[] {
    const state = join(this.home, "state", "touchstoned");
    const bases =
      runs_dir === undefined ? subdirs(state).map((at) => join(at, "runs")) : subdirs(runs_dir);
    return bases.flatMap((base) => subdirs(base)).sort();
  }
}

function subdirs(path: string): string[] {
  try {
    const rows = readdirSync(path, { withFileTypes: true });
    return rows.filter((row) => row.isDirectory()).map((row) => join(path, row.name));
  } catch {
    return []; // not made yet
  }
}

export function readSummary(directory: string): Summary {
  return summarySchema.parse(JSON.parse(readFileSync(join(directory, "summary.json"), "utf8")));
}

/** Processes whose command line holds `text`, zombies left out. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
      } catch {
        return false; // ended while we looked
      }
    })
    .map(Number);
}

/** Declaration of a runner that the run starts itself. */
export function ownRunner(name: string, model_file = madeModel()): Record<string, unknown> {
  const { kind, start } = realSettings({ model_file });
  // The embedded one is installed for each home, and these tests have a new one each time.
  if (kind === "embedded") throw new Error(`this test needs a llama-server: ${GET_LLAMA_SERVER}`);
  const { binary, ...rest } = start ?? { binary: null };
  return { name, kind, start: { ...rest, ...(binary === null ? {} : { binary }) } };
}

export interface Proxy {
  url: string;
  /** Where connections go from now on. */
  target(url: string): void;
  /** Called at the first bytes of the next answer to a chat request. */
  onAnswer(action: () => void): void;
}

/** Stands between a run and a real server, so that a test can act when an answer begins. */
export async function startProxy(url: string): Promise<Proxy> {
  let port = Number(new URL(url).port);
  let action: (() => void) | undefined;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let asked = "";
    client.on("data", (bytes) => {
      asked += bytes.toString("latin1");
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (asked.includes("POST /v1/chat/completions") && bytes.includes("data:")) {
        const now = action;
        action = undefined;
        now?.();
      }
      client.write(bytes);
    });
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("close", close).on("error", close);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target(next) {
      port = Number(new URL(next).port);
    },
    onAnswer(next) {
      action = next;
    },
  };
}
