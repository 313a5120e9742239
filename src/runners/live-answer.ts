import type { LiveServing } from "./live-serving.ts";
import type { ServiceSlots } from "./ollama-service.ts";
import type { RunnerKind } from "./runner.ts";

export interface RunnerQuestion {
  kind: RunnerKind;
  /** null where the runner is only started for each run. */
  url: string | null;
  /** null = the one that it serves, where that is one. */
  model: string | null;
  declared_slots: number | null;
  /** For everything that is asked, milliseconds. */
  limit_ms: number;
  /** An earlier answer about Ollama's service. */
  service?: ServiceSlots | undefined;
  /** An earlier answer about how llama-server was started. */
  serving?: LiveServing | undefined;
}

/** What a production runner has now. */
export interface LiveRunner {
  version: string | null;
  slots: number;
  /** `service`: from the environment of the process or service. `declared`: machine.yaml says so. */
  slots_source: "runner" | "service" | "declared";
  /** Which service, which declaration: for the reason. */
  slots_note: string;
  /** Tokens; null where it is not told, or not loaded now. */
  context_per_slot: number | null;
  model: {
    id: string;
    digest: string | null;
    /** Path of the weights as the server sees it. */
    file: string | null;
    quantization: string | null;
  };
  service?: ServiceSlots;
  /** How a llama-server was started; other kinds do not have it. */
  serving?: LiveServing;
}

export type LiveAnswer =
  | { ok: true; runner: LiveRunner }
  /** `passing`: may be gone at the next look (no answer, loading), as opposed to an answer that says no. */
  | { ok: false; passing: boolean; reason: string; hint: string };

export function no(reason: string, hint: string): LiveAnswer {
  return { ok: false, passing: false, reason, hint };
}

export function hiccup(reason: string): LiveAnswer {
  return { ok: false, passing: true, reason, hint: "Start the runner, or look at what it does." };
}

export const DECLARE = "Say how many with declared_slots of this runner in machine.yaml.";

/** What the runner said, or what machine.yaml declares, and says that it is declared. */
export function slotsOf(
  told: number | null,
  declared: number | null,
): Pick<LiveRunner, "slots" | "slots_source" | "slots_note"> | null {
  if (told !== null) return { slots: told, slots_source: "runner", slots_note: "it says so" };
  if (declared === null) return null;
  return { slots: declared, slots_source: "declared", slots_note: "declared in machine.yaml" };
}

export function wrongModel(served: readonly string[], model: string): LiveAnswer {
  const list = served.length === 0 ? "no model" : served.join(", ");
  return no(`it serves ${list}, not "${model}"`, "Load that model, or name another with --model.");
}
