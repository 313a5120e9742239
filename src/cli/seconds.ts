import { usageError } from "../core/errors.ts";

/** The number of seconds that `option` was given; undefined where it was not. */
export function secondsOption(
  option: string,
  text: string | undefined,
  example: string,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw usageError(
      `${option}: "${text}" is not a number of seconds`,
      `Example: ${option} ${example}`,
    );
  }
  return value;
}
