import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../src/core/clock.ts";
import { ulidSource } from "../../src/core/ids.ts";
import { writeMadeModel } from "../../src/models/index.ts";
import {
  embeddedInstalled,
  installEmbedded,
  startRunner,
  type RunnerSettings,
  type StartedRunner,
} from "../../src/runners/index.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CACHE = join(ROOT, ".cache");
/** What to do where none is found. */
export const GET_LLAMA_SERVER =
  "scripts/get-llama-server.sh .cache/llama-server brings one on Debian";

/** State of the embedded runner for tests, so that a person's own is neither used nor changed. */
export const EMBEDDED_ENV: Readonly<Record<string, string | undefined>> = {
  ...process.env,
  HOME: join(CACHE, "home"),
  XDG_STATE_HOME: join(CACHE, "state"),
};

function onPath(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find((path) => existsSync(path));
}

/** The real llama-server of this machine, if there is one. */
export function findLlamaServer(): string | undefined {
  const named = process.env["TOUCHSTONED_TEST_LLAMA_SERVER"];
  if (named !== undefined && named !== "") return named;
  const fetched = join(CACHE, "llama-server", "llama-server");
  return existsSync(fetched) ? fetched : onPath("llama-server");
}

/** The made model, written once. */
export function madeModel(): string {
  const path = join(CACHE, "models", "tiny.gguf");
  if (existsSync(path)) return path;
  mkdirSync(join(CACHE, "models"), { recursive: true });
  return writeMadeModel(path).path;
}

/** Installs the embedded runner for tests where it is not there; needs the npm registry once. */
export async function ensureEmbedded(): Promise<string> {
  const there = embeddedInstalled(EMBEDDED_ENV);
  if (there !== null) return there;
  return (await installEmbedded({ env: EMBEDDED_ENV, say: (line) => console.error(line) })).dir;
}

/**
 * The kind of real server that tests run on: llama-server, or the embedded runner where there is
 * none, which is said loudly, or is a failure where TOUCHSTONED_REQUIRE_LLAMA_SERVER=1 asks for it.
 */
export function realKind(): "llama-server" | "embedded" {
  const binary = findLlamaServer();
  if (binary !== undefined) {
    const version = execFileSync(binary, ["--version"], { encoding: "utf8", stdio: "pipe" });
    if (version !== "") console.error(`[tests] real llama-server: ${version.split("\n", 1)[0]}`);
    return "llama-server";
  }
  if (process.env["TOUCHSTONED_REQUIRE_LLAMA_SERVER"] === "1") {
    throw new Error(`no llama-server: ${GET_LLAMA_SERVER}`);
  }
  console.error(
    "[tests] ***** NO llama-server WAS FOUND: THESE TESTS MAKE DO WITH THE EMBEDDED RUNNER *****",
  );
  return "embedded";
}

export interface RealServerOptions {
  kind?: "llama-server" | "embedded";
  slots?: number;
  context_length?: number;
  model_file?: string;
  args?: string[];
}

/** Settings of a server with the made model, one thread: two would crawl on a busy machine. */
export function realSettings(options: RealServerOptions = {}): RunnerSettings {
  const kind = options.kind ?? realKind();
  const threads = kind === "embedded" ? ["--threads", "1"] : ["-t", "1", "--no-warmup"];
  return {
    name: "real",
    kind,
    url: null,
    api_key: null,
    declared_slots: null,
    start: {
      binary: kind === "embedded" ? null : (findLlamaServer() ?? null),
      model_file: options.model_file ?? madeModel(),
      args: [...threads, ...(options.args ?? [])],
      context_length: options.context_length ?? 2048,
      slots: options.slots ?? 1,
    },
  };
}

/** Starts a real server with the made model. Stop it. */
export async function startRealServer(
  work_dir: string,
  options: RealServerOptions = {},
): Promise<StartedRunner> {
  const settings = realSettings(options);
  if (settings.kind === "embedded") await ensureEmbedded();
  return startRunner(settings, {
    clock: systemClock,
    work_dir,
    new_id: ulidSource(systemClock),
    env: EMBEDDED_ENV,
    ready_limit_s: 60,
  });
}
