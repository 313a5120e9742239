import { MINIMAL_ENVIRONMENT } from "./environment.ts";
import { startServer, type StartDeps, type StartedRunner } from "./guarded.ts";
import type { RunnerSettings } from "./runner.ts";

/** How to start an Ollama of our own beside the one that is there. */
export interface OllamaStart {
  /** Program to run: `ollama`, or its absolute path. */
  binary: string;
  /** Where the models lie that the owner has pulled; null = Ollama's own default. */
  models_dir: string | null;
  slots: number;
  /** Further variables, from machine.yaml only. What we need ourselves goes before them. */
  env: Readonly<Record<string, string>>;
}

/** A model stays loaded as long as a calibration may take between two requests. */
const KEEP_ALIVE = "24h";

/**
 * Starts `ollama serve` on a port of its own; no model is loaded yet. It sees the variables named
 * here and hardly any of ours: a setting of the shell that we run in must not change what is
 * measured, and it may never prune what the owner has pulled.
 */
export async function startOllama(
  settings: RunnerSettings,
  start: OllamaStart,
  deps: StartDeps,
): Promise<StartedRunner> {
  return startServer(
    { ...settings, kind: "ollama", api_key: null, start: null },
    (port) => ({
      argv: [start.binary, "serve"],
      keep_env: MINIMAL_ENVIRONMENT,
      env: {
        OLLAMA_MAX_LOADED_MODELS: "1",
        OLLAMA_KEEP_ALIVE: KEEP_ALIVE,
        ...start.env,
        ...(start.models_dir === null ? {} : { OLLAMA_MODELS: start.models_dir }),
        OLLAMA_HOST: `127.0.0.1:${port}`,
        OLLAMA_NUM_PARALLEL: String(start.slots),
        OLLAMA_NOPRUNE: "true",
      },
    }),
    deps,
  );
}
