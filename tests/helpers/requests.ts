import { systemClock, type Clock } from "../../src/core/clock.ts";
import {
  connectRunner,
  type GenerateRequest,
  type Runner,
  type RunnerKind,
} from "../../src/runners/index.ts";

/** Limits that no test reaches unless it wants to. */
const WIDE_LIMITS = {
  connect_s: 30,
  first_token_s: 60,
  stall_s: 60,
  total_s: null,
} as const;

export function chatRequest(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    model: "fake",
    messages: [{ role: "user", content: "Say hello" }],
    temperature: 0,
    seed: 1,
    max_tokens: 16,
    extra_body: {},
    limits: WIDE_LIMITS,
    ...more,
  };
}

/** Attaches to a server that is there. */
export function attach(
  kind: RunnerKind,
  url: string,
  more: { clock?: Clock; api_key?: string; declared_slots?: number } = {},
): Runner {
  const { clock = systemClock, api_key = null, declared_slots = null } = more;
  return connectRunner(
    { name: "test", kind, url, api_key, start: null, declared_slots },
    { clock },
  );
}
