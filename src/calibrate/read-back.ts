import type { Clock } from "../core/clock.ts";
import { readSlots, readSlotStates, type RunnerKind } from "../runners/index.ts";
import type { CalibrationServer } from "./launch.ts";
import { logShape, type LogShape } from "./log-facts.ts";

/** The smallest of what several sources say: what is certain; null where none says anything. */
function least(...values: readonly (number | null | undefined)[]): number | null {
  const told = values.filter((value) => typeof value === "number");
  return told.length === 0 ? null : Math.min(...told);
}

/** Kinds that answer `/props` and `/slots`. */
function hasSlotDoors(kind: RunnerKind): boolean {
  return kind === "llama-server" || kind === "embedded";
}

/**
 * The slots and the context of each that a server really has, which may be fewer than asked: from its
 * own answers and from the log of its start. Where they differ the smaller one counts.
 */
export async function readBack(server: CalibrationServer, clock: Clock): Promise<LogShape> {
  const { kind, api_key, declared_slots } = server.runner.settings;
  const log = logShape(server.log?.more() ?? "");
  if (hasSlotDoors(kind)) {
    const { total_slots, context, slots } = await readSlots({ url: server.url, api_key }, clock);
    return {
      slots: least(log.slots, total_slots, slots?.length),
      context: least(log.context, context, ...(slots ?? []).map((slot) => slot.context)),
    };
  }
  if (kind === "ollama") return log;
  const { models } = await server.runner.status();
  return { slots: declared_slots, context: models?.[0]?.context_length ?? null };
}

const LOOK_LIMIT_S = 5;

/** How many slots are at work right now; null where the server does not tell. */
export function busySlots(
  server: CalibrationServer,
  clock: Clock,
): (() => Promise<number | null>) | null {
  const { kind, api_key } = server.runner.settings;
  if (!hasSlotDoors(kind)) return null;
  return async () => {
    const { slots } = await readSlotStates({ url: server.url, api_key }, clock, LOOK_LIMIT_S);
    if (slots === null || slots.some(({ busy }) => busy === null)) return null;
    return slots.filter(({ busy }) => busy === true).length;
  };
}
