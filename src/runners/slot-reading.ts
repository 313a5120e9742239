import type { Clock } from "../core/clock.ts";
import { fieldsOf, listOf, numberOf } from "./answer.ts";
import { callJson } from "./http.ts";
import type { RunnerSettings } from "./runner.ts";

export interface SlotState {
  id: number | null;
  /** Tokens of context that the server gives it. */
  context: number | null;
  busy: boolean | null;
}

/** What llama-server says of its slots, by its two doors. Null where a door is closed. */
export interface SlotReading {
  /** `/props`: the number of slots, and the context of one. */
  total_slots: number | null;
  context: number | null;
  /** `/slots`: one by one. */
  slots: SlotState[] | null;
  /** Why something is null; null where both doors answered. */
  reason: string | null;
}

function slotState(value: unknown): SlotState {
  const fields = fieldsOf(value);
  const { is_processing } = fields;
  return {
    id: numberOf(fields["id"]),
    context: numberOf(fields["n_ctx"]),
    busy: typeof is_processing === "boolean" ? is_processing : null,
  };
}

/** The slots of `/slots` alone: asked several times a minute while requests run. */
export async function readSlotStates(
  settings: Pick<RunnerSettings, "api_key"> & { url: string },
  clock: Clock,
  limit_s: number,
): Promise<{ slots: SlotState[] | null; reason: string | null }> {
  const answer = await callJson(settings, { method: "GET", path: "/slots", limit_s }, clock);
  if (!answer.ok) return { slots: null, reason: answer.fault.message };
  if (!Array.isArray(answer.value)) return { slots: null, reason: "/slots has no list of slots" };
  return { slots: listOf(answer.value).map((slot) => slotState(slot)), reason: null };
}

/** Asks a llama-server (or our embedded one) for the slots that it really has. Never throws. */
export async function readSlots(
  settings: Pick<RunnerSettings, "api_key"> & { url: string },
  clock: Clock,
  limit_s = 5,
): Promise<SlotReading> {
  const answer = await callJson(settings, { method: "GET", path: "/props", limit_s }, clock);
  const props = answer.ok ? fieldsOf(answer.value) : {};
  const { slots, reason } = await readSlotStates(settings, clock, limit_s);
  return {
    total_slots: numberOf(props["total_slots"]),
    context: numberOf(fieldsOf(props["default_generation_settings"])["n_ctx"]),
    slots,
    reason: answer.ok ? reason : answer.fault.message,
  };
}
