import { contentHash, type JsonValue } from "../core/json.ts";
import type { Runner, RunnerKind } from "../runners/index.ts";
import type { JudgeConfig } from "./judge-config.ts";
import { PROMPT_TEXTS, PROMPT_VERSION } from "./judge-prompt.ts";
import type { JudgeIdentity } from "./records.ts";

/**
 * Fields that ask a server not to think before it answers. Each server reads its own and leaves
 * the others alone; Ollama's own API knows only `think`.
 */
export function thinkingHints(kind: RunnerKind): Record<string, JsonValue> {
  if (kind === "ollama") return { think: false };
  return {
    reasoning_effort: "none",
    reasoning_budget: 0,
    chat_template_kwargs: { enable_thinking: false },
  };
}

/**
 * Who judges. The hash covers everything that can change a verdict: the model and its digest, the
 * runner and its version, the settings and the texts of the prompts. Limits on time and failures
 * are left out: they decide whether there is a verdict, not which.
 */
export async function identifyJudge(
  runner: Runner,
  model: string,
  config: JudgeConfig,
): Promise<JudgeIdentity> {
  const status = await runner.status();
  const served = status.models?.find(({ id }) => id === model);
  const { temperature, seed, max_tokens, suppress_thinking, extra_body } = config;
  const name = runner.settings.name;
  return {
    model,
    runner: name,
    runner_version: status.version,
    temperature,
    hash: contentHash({
      model,
      digest: served?.digest ?? null,
      // llama-server tells no digest: another file under the same name shows in these.
      size_bytes: served?.size_bytes ?? null,
      quantization: served?.quantization ?? null,
      runner: name,
      runner_kind: runner.settings.kind,
      runner_version: status.version,
      settings: { temperature, seed, max_tokens, suppress_thinking, extra_body },
      prompt_version: PROMPT_VERSION,
      prompts: [...PROMPT_TEXTS],
    }),
  };
}

/** A model's name less what does not make it another model. */
function plainName(model: string): string {
  return model
    .toLowerCase()
    .replace(/\.gguf$/, "")
    .replace(/:latest$/, "");
}

/** True where the judge is the model it judges: models prefer their own answers. */
export function judgesItself(judge_model: string, tested_model: string): boolean {
  return plainName(judge_model) === plainName(tested_model);
}
