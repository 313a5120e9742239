/** What the process says to a script, one meaning a number (see ARCHITECTURE.md, "Exit codes"). */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  bad_input: 64,
  unavailable: 69,
  busy: 75,
  bad_config: 78,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface ErrorDetails {
  /** Stable, lower_snake_case; scripts and tests match on it, never on the message. */
  code: string;
  exitCode: ExitCode;
  /** What is wrong, with the name of the file or thing it is wrong in. */
  message: string;
  /** What the reader can do about it. */
  hint?: string;
  cause?: unknown;
}

/** The one error class of this program: known trouble, printed without a stack. */
export class TouchstonedError extends Error {
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(details: ErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "TouchstonedError";
    this.code = details.code;
    this.exitCode = details.exitCode;
    this.hint = details.hint;
  }
}

/** A file that a person wrote and that cannot be used as it is. Exit code 64. */
export function inputError(message: string, hint?: string, code = "bad_input"): TouchstonedError {
  return new TouchstonedError({
    code,
    exitCode: EXIT.bad_input,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** A configuration that cannot be used as it is. Exit code 78. */
export function configError(message: string, hint?: string, code = "bad_config"): TouchstonedError {
  return new TouchstonedError({
    code,
    exitCode: EXIT.bad_config,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** A command line that asks for something impossible. Exit code 2. */
export function usageError(message: string, hint?: string): TouchstonedError {
  return new TouchstonedError({
    code: "usage",
    exitCode: EXIT.usage,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** One line for a log or a record: the message of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a Node system error (`ENOENT`, `ENOSPC` ...), or undefined. */
export function systemErrorCode(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") {
    return error.code;
  }
  return undefined;
}
