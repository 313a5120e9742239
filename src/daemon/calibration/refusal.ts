import { EXIT, TouchstonedError, type ExitCode } from "../../core/errors.ts";

/** Why nothing is measured here, and what would change that. The answer stays 1. */
export function refusal(code: string, message: string, hint: string): TouchstonedError {
  return refused(code, EXIT.refused, message, hint);
}

/** Why nothing can be measured right now. */
export function notNow(code: string, message: string, hint: string): TouchstonedError {
  return refused(code, EXIT.busy, message, hint);
}

function refused(
  code: string,
  exitCode: ExitCode,
  message: string,
  hint: string,
): TouchstonedError {
  return new TouchstonedError({ code, exitCode, message, hint });
}
