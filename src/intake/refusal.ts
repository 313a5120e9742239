import { errorMessage, type TouchstonedError } from "../core/errors.ts";

/** Why a file is not taken up, for a person to act on. */
export interface Refusal {
  /** Stable name of the rule, lower_snake_case. */
  rule: string;
  message: string;
  /** Of the first finding, counted from 1; null where the whole file is meant. */
  line: number | null;
  column: number | null;
  what_to_do: string;
}

export function refusal(rule: string, message: string, what_to_do: string): Refusal {
  return { rule, message, line: null, column: null, what_to_do };
}

/** A refusal from the error of a check. The path at the start of each line is cut to the name. */
export function refusalFrom(error: TouchstonedError, path: string, name: string): Refusal {
  const message = errorMessage(error).replaceAll(path, name);
  const place = message.startsWith(name)
    ? /^:(\d+)(?::(\d+))?: /.exec(message.slice(name.length))
    : null;
  return {
    rule: error.code,
    message,
    line: place === null ? null : Number(place[1]),
    column: place?.[2] === undefined ? null : Number(place[2]),
    what_to_do: error.hint ?? "Correct it, and drop it into the inbox again.",
  };
}
