import { errorMessage } from "../core/errors.ts";
import { runCommand, type TreeExit } from "../core/process.ts";
import {
  connectRunner,
  MINIMAL_ENVIRONMENT,
  startOllama,
  startRunner,
  type Runner,
  type RunnerSettings,
  type StartDeps,
  type StartedRunner,
} from "../runners/index.ts";
import type { Cold } from "./cold.ts";
import { ServerLog } from "./log-facts.ts";
import { withoutPaths } from "./outcome.ts";

/** A server that is measured: one of our own, or the one in production that we are attached to. */
export interface CalibrationServer {
  runner: Runner;
  url: string;
  /** Process that serves; null where it cannot be told. */
  pid: number | null;
  log: ServerLog | null;
  /** When it has ended; null where it is not ours to know. */
  exited: Promise<TreeExit> | null;
  stop: () => Promise<void>;
}

interface LaunchOptions {
  slots: number;
  context_per_slot: number;
  signal?: AbortSignal | undefined;
}

/** Starts a server with its model loaded; throws where that does not succeed. */
export type Launch = (options: LaunchOptions) => Promise<CalibrationServer>;

/** How to start servers for a calibration: `runners[].calibration` of machine.yaml, with defaults. */
export interface LaunchPlan {
  settings: RunnerSettings;
  binary: string | null;
  /** GGUF file; null for Ollama, which goes by the model's name. */
  model_file: string | null;
  models_dir: string | null;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}

function serverOf(started: StartedRunner): CalibrationServer {
  const { runner, url, pid, log_path, exited, stop } = started;
  return { runner, url, pid, log: new ServerLog(log_path), exited, stop };
}

/** llama-server's own memory of prompts, which `cache_prompt: false` alone does not switch off. */
const HOST_CACHE_OFF = ["--cache-ram", "0"];
const HELP_LIMIT_S = 20;

/**
 * How prompts are kept cold on such a server: its caches switched off where it has the switch, else a
 * nonce in every prompt. `args` switch them off.
 */
export async function coldness(plan: LaunchPlan): Promise<{ cold: Cold; args: string[] }> {
  if (plan.settings.kind === "embedded") return { cold: "cache_off", args: [] };
  if (plan.settings.kind !== "llama-server") return { cold: "nonce", args: [] };
  const help = await runCommand(plan.binary ?? "llama-server", ["--help"], {
    timeout_s: HELP_LIMIT_S,
  });
  const known = `${help.stdout}${help.stderr}`.includes(HOST_CACHE_OFF[0] ?? "");
  return known ? { cold: "cache_off", args: HOST_CACHE_OFF } : { cold: "nonce", args: [] };
}

/** A llama-server or an embedded runner, each start with the slots that are asked for. */
export function launchOwn(
  plan: LaunchPlan,
  cache_args: readonly string[],
  deps: StartDeps,
): Launch {
  return async ({ slots, context_per_slot, signal }) => {
    const start = {
      binary: plan.binary,
      model_file: plan.model_file ?? "",
      args: [...plan.args, ...cache_args],
      context_length: context_per_slot,
      slots,
      env: plan.env,
      keep_env: MINIMAL_ENVIRONMENT,
    };
    const settings = { ...plan.settings, url: null, api_key: null, start };
    return serverOf(await startRunner(settings, { ...deps, signal }));
  };
}

const LOAD_LIMIT_S = 900;

/** An Ollama of our own with `model` loaded by the very options that the requests will have. */
export function launchOllama(
  plan: LaunchPlan,
  model: string,
  extra_body: (context_per_slot: number) => StartBody,
  deps: StartDeps,
): Launch {
  return async ({ slots, context_per_slot, signal }) => {
    const { binary, models_dir, env } = plan;
    const start = { binary: binary ?? "ollama", models_dir, slots, env };
    const started = await startOllama(plan.settings, start, { ...deps, signal });
    try {
      const loaded = await started.runner.load(model, {
        limit_s: LOAD_LIMIT_S,
        extra_body: extra_body(context_per_slot),
        ...(signal === undefined ? {} : { signal }),
      });
      if (loaded.outcome === "failed") throw new Error(loaded.fault?.message ?? "it did not load");
      return serverOf(started);
    } catch (error) {
      await started.stop();
      throw error;
    }
  };
}

type StartBody = NonNullable<Parameters<Runner["load"]>[1]["extra_body"]>;

/** The server that is in production. It is neither started nor stopped; only our requests vary. */
export function launchAttached(settings: RunnerSettings, deps: StartDeps): Launch {
  return async () => {
    const runner = connectRunner(settings, { clock: deps.clock });
    const url = settings.url ?? "";
    const status = await runner.status();
    if (!status.reachable) throw new Error(`it is not there: ${status.reason ?? "no reason"}`);
    const pid = await runner.serverPid();
    return { runner, url, pid, log: null, exited: null, stop: () => Promise.resolve() };
  };
}

/** What a log says where memory was missing. */
const MEMORY_WORDS =
  /out of memory|outofmemory|failed to allocate|unable to allocate|cannot allocate|more system memory|cudaMalloc failed|insufficient memory/i;

/** Why a start failed, in words that may be committed: no path, no line of the log. */
export function loadFailure(error: unknown): string {
  const message = errorMessage(error);
  const first = message.split("\n", 1)[0] ?? "";
  const what = withoutPaths(first.replace(/^runner "[^"]*"(?: did not start)?: /, ""));
  return MEMORY_WORDS.test(message) ? `not enough memory: ${what}` : what;
}
