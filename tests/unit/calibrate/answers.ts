import type { FaultClass, GenerateResult } from "../../../src/runners/index.ts";
import { quietMachine } from "../../helpers/quiet-readings.ts";

/** A good answer of one token; `changes` replaces parts of it. */
export function answer(changes: Partial<GenerateResult> = {}): GenerateResult {
  return {
    ok: true,
    fault: null,
    text: "yes",
    reasoning_text: "",
    tool_calls: [],
    finish_reason: "stop",
    answered_model: "m",
    timing: {
      started_at_ms: 0,
      ended_at_ms: 1000,
      first_byte_s: 0.1,
      first_reasoning_s: null,
      last_reasoning_s: null,
      first_content_s: 0.2,
      e2e_s: 1,
    },
    usage: { prompt_tokens: 100, completion_tokens: 1, reasoning_tokens: null, cached_tokens: 0 },
    server_timing: { load_s: null, prompt_s: null, decode_s: null, queue_s: null },
    ...changes,
  };
}

export function failure(
  kind: FaultClass,
  message = "it says so",
  http_status?: number,
): GenerateResult {
  const fault = { class: kind, message, retryable: true, http_status: http_status ?? null };
  return answer({ ok: false, fault, text: "", finish_reason: null });
}

export function counted(
  prompt_tokens: number | null,
  completion_tokens: number | null,
): GenerateResult {
  const { usage } = answer();
  return answer({ usage: { ...usage, prompt_tokens, completion_tokens } });
}

/** A machine at rest, on which one reading fails. */
export const QUIET = quietMachine({
  samples: 4,
  host_used_peak_mb: 1000,
  host_total_mb: 8000,
  pressure_stall_share: 0,
  throttled: null,
  unavailable: { throttled: "no such file" },
});
