import { configError } from "../core/errors.ts";
import type { RunnerDeps } from "./adapter.ts";
import { LlamaServerRunner } from "./llama-server.ts";
import { OllamaRunner } from "./ollama.ts";
import { OpenAiRunner } from "./openai.ts";
import type { Runner, RunnerKind, RunnerSettings } from "./runner.ts";

type Connect = (settings: RunnerSettings, url: string, deps: RunnerDeps) => Runner;

const ADAPTERS = {
  "llama-server": (settings, url, deps) => new LlamaServerRunner(settings, url, deps, "fixed"),
  ollama: (settings, url, deps) => new OllamaRunner(settings, url, deps),
  openai: (settings, url, deps) => new OpenAiRunner(settings, url, deps),
  embedded: (settings, url, deps) => new LlamaServerRunner(settings, url, deps, "managed"),
} satisfies Record<RunnerKind, Connect>;

export const RUNNER_KINDS = Object.keys(ADAPTERS) as readonly RunnerKind[];

/** Where a runner of each kind is found when nobody says otherwise; null for those we start. */
export const DEFAULT_URL: Readonly<Record<RunnerKind, string | null>> = {
  "llama-server": "http://127.0.0.1:8080",
  ollama: "http://127.0.0.1:11434",
  openai: "http://127.0.0.1:1234",
  embedded: null,
};

function checkUrl(settings: RunnerSettings): string {
  const url = settings.url ?? (settings.start === null ? DEFAULT_URL[settings.kind] : null);
  const hint = "a base URL looks like http://127.0.0.1:8080";
  if (url === null) {
    throw configError(`runner "${settings.name}" has no url and is not running yet`, hint);
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol)) {
    throw configError(`runner "${settings.name}": "${url}" is not an http or https URL`, hint);
  }
  return url;
}

/** Speaks to a server that is there. Opens no connection yet. Throws bad_config for a bad URL. */
export function connectRunner(settings: RunnerSettings, deps: RunnerDeps): Runner {
  return ADAPTERS[settings.kind](settings, checkUrl(settings), deps);
}
