import { realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { configError } from "../../core/errors.ts";
import { DEFAULT_METHOD, type Method } from "../../verdict/index.ts";
import { fileMark } from "./file-digest.ts";
import type { CalibrationPlan } from "./plan.ts";

type Env = Readonly<Record<string, string | undefined>>;

const MAX_TOKENS = 512;
const SEED = 42;

/** What is measured is the same only while the program that serves is the same file. */
export function binaryMark(plan: CalibrationPlan, env: Env): string | null {
  const { binary } = plan.calibration;
  if (plan.residency === "attached" || binary === null) return null;
  const places = isAbsolute(binary)
    ? [binary]
    : (env["PATH"] ?? "").split(delimiter).map((dir) => join(dir, binary));
  for (const place of places) {
    try {
      return fileMark(realpathSync(place));
    } catch {
      // Not there: the next place.
    }
  }
  throw configError(
    `runner "${plan.settings.name}" cannot be started: there is no program ${binary}`,
    "Say where it is with calibration.binary in machine.yaml.",
  );
}

export function methodOf(
  plan: CalibrationPlan,
  max_tokens: number | undefined,
  parts: Required<Pick<Method, "cold" | "max_slots" | "text_answers">>,
): Method {
  return {
    ...DEFAULT_METHOD,
    max_slots: parts.max_slots,
    text_answers: parts.text_answers,
    context_per_slot: plan.context_per_slot,
    temperature: 0,
    seed: SEED,
    max_tokens: max_tokens ?? MAX_TOKENS,
    cold: parts.cold,
    residency: plan.residency,
  };
}
