import { rmSync } from "node:fs";
import { join } from "node:path";
import { isoTime } from "../../core/clock.ts";
import { TouchstonedError } from "../../core/errors.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { parseJsonLenient } from "../../core/json.ts";
import type { CalibrationOutcome } from "./wish.ts";

/** How the last calibration ended that left its request open. */
export interface LastAttempt {
  /** RFC 3339 */
  at: string;
  /** `too_noisy` and `incomplete`, or the code of what stood in its way. */
  result: string;
  reason: string;
}

function attemptPath(state_dir: string, key: string): string {
  return join(state_dir, "slots", `attempt-${key}.json`);
}

/** The last attempt at the request `key`; null where there was none, or it was answered. */
export function lastAttempt(state_dir: string, key: string): LastAttempt | null {
  const value = parseJsonLenient(readTextIfThere(attemptPath(state_dir, key)) ?? "");
  const { at, result, reason } = (value ?? {}) as Partial<LastAttempt>;
  if (typeof at !== "string" || typeof result !== "string") return null;
  return { at, result, reason: String(reason) };
}

function note(state_dir: string, key: string, attempt: LastAttempt): void {
  try {
    ensureDir(join(state_dir, "slots"), 0o700);
    writeFileAtomic(attemptPath(state_dir, key), `${JSON.stringify(attempt)}\n`, 0o600);
  } catch {
    // What the calibration came to is told anyway; a full disk must not change it.
  }
}

/** Measures, and remembers how that ended where the request for it stays open. */
export async function rememberingEnd(
  where: { state_dir: string; key: string; now_ms: () => number },
  measure: () => Promise<CalibrationOutcome>,
): Promise<CalibrationOutcome> {
  const { state_dir, key, now_ms } = where;
  try {
    const outcome = await measure();
    const { result, verdict, stop } = outcome;
    if (result === "measured") rmSync(attemptPath(state_dir, key), { force: true });
    else {
      const reason = result === "too_noisy" ? (verdict?.reason ?? stop) : stop;
      note(state_dir, key, { at: isoTime(now_ms()), result, reason });
    }
    return outcome;
  } catch (error) {
    if (error instanceof TouchstonedError) {
      const { code: result, message: reason } = error;
      note(state_dir, key, { at: isoTime(now_ms()), result, reason });
    }
    throw error;
  }
}
