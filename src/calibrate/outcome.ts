import type { Fault, FaultClass, GenerateResult } from "../runners/index.ts";
import { warmth, type Cold } from "./cold.ts";
import type { TurnOutcome } from "./device.ts";
import type { SentTurn } from "./replay.ts";
import { exactSignature, structuralSignature } from "./signature.ts";

/** Faults whose words are ours: a server's own may hold parts of a prompt or an answer. */
const OUR_WORDS = new Set<FaultClass>([
  "unreachable",
  "prompt_truncated",
  "stream_cut",
  "no_final",
  "connect_timeout",
  "first_token_timeout",
  "stall_timeout",
  "total_timeout",
  "cancelled",
]);

/** Class and message of a fault, without anything that a server wrote. */
export function faultText(fault: Fault): string {
  if (OUR_WORDS.has(fault.class)) return `${fault.class}: ${withoutPaths(fault.message)}`;
  if (fault.class === "context_exceeded") return `${fault.class}: longer than the slot's context`;
  return fault.http_status === null ? fault.class : `${fault.class} (HTTP ${fault.http_status})`;
}

/** Evidence is committed: where things lie on this machine stays out of it. */
export function withoutPaths(text: string): string {
  return text.replaceAll(/(?<![\w.:/])(?:~|\.{1,2})?\/[^\s:,'"]+/g, "...");
}

/** How a turn counts among the bounds; null where nothing is wrong with it. */
export type TurnFault = "failed" | "cut" | "unfinished";

/** Finish reasons of an answer that is whole, or that reached the output limit that we set. */
const FINISHED = new Set(["stop", "length", "tool_calls", "function_call"]);

export function turnFault({ ok, fault, finish_reason }: GenerateResult): TurnFault | null {
  if (!ok) {
    if (fault?.class === "prompt_truncated") return "cut";
    return fault?.class === "stream_cut" || fault?.class === "no_final" ? "unfinished" : "failed";
  }
  return finish_reason !== null && FINISHED.has(finish_reason) ? null : "unfinished";
}

/** Whether the server refused or cut a prompt because of the slot's context. */
function tooLong({ fault }: GenerateResult): boolean {
  return fault?.class === "context_exceeded" || fault?.class === "prompt_truncated";
}

export function turnOutcome(sent: SentTurn): TurnOutcome {
  const { turn, result, started_s, ended_s } = sent;
  const { usage } = result;
  return {
    turn_id: turn.id,
    segment_id: turn.segment_id,
    ok: turnFault(result) === null,
    fault: result.fault === null ? null : faultText(result.fault),
    started_s,
    ended_s,
    prompt_tokens: usage.prompt_tokens,
    output_tokens: usage.completion_tokens,
    cached_tokens: usage.cached_tokens,
    finish_reason: result.finish_reason,
    ...(tooLong(result) ? { too_long: true } : {}),
    structural: result.ok ? structuralSignature(result) : null,
    exact: result.ok ? exactSignature(result) : null,
  };
}

/** Why the period's prompts were not cold; null where all were, as far as the server counts. */
export function warmPrompts(outcomes: readonly TurnOutcome[], cold: Cold): string | null {
  for (const { cached_tokens, prompt_tokens } of outcomes) {
    const why = warmth(cached_tokens, prompt_tokens, cold);
    if (why !== null) return `prompts were not cold: ${why}`;
  }
  return null;
}
