import { fault } from "./fault.ts";
import type { Fault, GenerateLimits } from "./runner.ts";

export interface LimitState {
  connected: boolean;
  /** The first token came. */
  begun: boolean;
  /** When the runner last showed life, seconds from sending. */
  life_s: number;
}

export interface NextLimit {
  /** Seconds from sending; infinite where nothing is limited. */
  at_s: number;
  fault(): Fault;
}

/** The limit that would be reached first if nothing more came. */
export function nextLimit(limits: GenerateLimits, state: LimitState): NextLimit {
  const own = phaseLimit(limits, state);
  const { total_s } = limits;
  if (total_s === null || own.at_s <= total_s) return own;
  return {
    at_s: total_s,
    fault: () => fault("total_timeout", `no complete answer in ${total_s} s`),
  };
}

function phaseLimit(limits: GenerateLimits, state: LimitState): NextLimit {
  if (!state.connected) {
    return {
      at_s: limits.connect_s,
      fault: () => fault("connect_timeout", `no connection in ${limits.connect_s} s`),
    };
  }
  if (!state.begun) {
    return {
      at_s: state.life_s + limits.first_token_s,
      fault: () =>
        fault("first_token_timeout", `no token and no progress in ${limits.first_token_s} s`),
    };
  }
  return {
    at_s: state.life_s + limits.stall_s,
    fault: () => fault("stall_timeout", `silent for ${limits.stall_s} s in mid-answer`),
  };
}
