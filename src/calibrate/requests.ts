import type { JsonValue } from "../core/json.ts";
import type { GenerateLimits, RunnerKind } from "../runners/index.ts";

/**
 * Limits that only a server that hangs reaches: prefill of a deep prompt on a slow machine takes
 * minutes, and with all slots busy it takes them in turn.
 */
export const CALIBRATION_LIMITS: GenerateLimits = {
  connect_s: 30,
  first_token_s: 1800,
  stall_s: 600,
  total_s: null,
};

type Body = Readonly<Record<string, JsonValue>>;

/**
 * What every request says beside its messages: the same in all of them, since some runners load their
 * model again when an option changes. No prompt is cut and no context shifted.
 */
export function requestBody(kind: RunnerKind): (context_per_slot: number) => Body {
  switch (kind) {
    case "ollama":
      return (num_ctx) => ({ truncate: false, shift: false, options: { num_ctx } });
    case "llama-server":
    case "embedded":
      // Also where a nonce keeps prompts cold: it costs nothing.
      return () => ({ cache_prompt: false });
    case "openai":
      return () => ({});
    default:
      return kind satisfies never;
  }
}

/** The same for who starts an Ollama: it loads by these options. */
export function loadBody(context_per_slot: number): Body {
  return requestBody("ollama")(context_per_slot);
}
