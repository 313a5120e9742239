import { replaceSynced, type Disk } from "../core/disk.ts";
import { systemErrorCode } from "../core/errors.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";

/** What is known of one entry of the schedule. */
export interface ScheduledState {
  /** Its pattern; with another one it begins anew. */
  at: string;
  /** Its times up to here are settled, wall clock. */
  until_ms: number;
  /** A drop that was begun then and not ended yet: what may be in the inbox already. */
  dropping: { sha256: string; at_ms: number } | null;
}

const MAX_BYTES = 1_000_000;

function stateFrom(value: unknown): ScheduledState | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { at, until_ms, dropping } = value as Record<string, unknown>;
  if (typeof at !== "string" || typeof until_ms !== "number") return undefined;
  const begun = dropping as Partial<NonNullable<ScheduledState["dropping"]>> | null | undefined;
  const whole = typeof begun?.sha256 === "string" && typeof begun.at_ms === "number";
  return { at, until_ms, dropping: whole ? (begun as ScheduledState["dropping"]) : null };
}

/** Undefined where the file is there and cannot be understood; empty where there is none. */
export function readScheduleState(
  disk: Pick<Disk, "read">,
  path: string,
): Map<string, ScheduledState> | undefined {
  let text: string;
  try {
    text = disk.read(path, MAX_BYTES).bytes.toString("utf8");
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return new Map();
    return undefined;
  }
  const value = parseJsonLenient(text) as { entries?: unknown } | undefined | null;
  const entries = value?.entries;
  if (typeof entries !== "object" || entries === null) return undefined;
  const states = new Map<string, ScheduledState>();
  for (const [name, one] of Object.entries(entries)) {
    const state = stateFrom(one);
    if (state !== undefined) states.set(name, state);
  }
  return states;
}

/** Durable when it returns. Throws the system's errors; the old state is whole then. */
export function writeScheduleState(
  disk: Disk,
  path: string,
  states: ReadonlyMap<string, ScheduledState>,
): void {
  const entries = Object.fromEntries(states);
  replaceSynced(disk, path, prettyJson({ schema_version: 1, entries }), 0o600);
}
