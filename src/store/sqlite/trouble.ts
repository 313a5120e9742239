import { EXIT, TouchstonedError } from "../../core/errors.ts";

/** Primary result codes of SQLite (sqlite.org/rescode.html) that mean something to a person. */
const CODE = {
  busy: 5,
  locked: 6,
  read_only: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannot_open: 14,
  not_a_database: 26,
} as const;

/** Primary code of an error of node:sqlite, or undefined for any other error. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

/** The file is there and is no sound SQLite file. */
export function isUnreadable(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CODE.corrupt || code === CODE.not_a_database;
}

/**
 * After these the state of the file is not known: a failed write or sync may have reached the disk
 * or not, and asking again may lie. Nothing more is acknowledged until it was opened anew.
 */
export function isPoison(error: unknown): boolean {
  return sqliteCode(error) === CODE.io || isUnreadable(error);
}

export function unreadable(path: string, cause: unknown): TouchstonedError {
  return new TouchstonedError({
    code: "store_unreadable",
    exitCode: EXIT.unavailable,
    message: `${path} is not a readable queue store`,
    hint:
      "`touchstoned queue rebuild` sets it aside and makes a new one from the files; " +
      "the daemon does so by itself when it starts.",
    cause,
  });
}

export function notPermitted(path: string, cause: unknown): TouchstonedError {
  return new TouchstonedError({
    code: "store_no_permission",
    exitCode: EXIT.bad_config,
    message: `${path} cannot be opened: permission denied`,
    hint: `It must be readable and writable for the user that runs this: chmod u+rw '${path}'`,
    cause,
  });
}

/** Turns an error of SQLite into one with a name; gives anything else back as it is. */
export function named(path: string, cause: unknown): unknown {
  const message = cause instanceof Error ? cause.message : String(cause);
  switch (sqliteCode(cause)) {
    case CODE.busy:
    case CODE.locked:
      return new TouchstonedError({
        code: "store_busy",
        exitCode: EXIT.busy,
        message: `${path} is locked by another process`,
        hint: "Try again; `touchstoned status` says who runs.",
        cause,
      });
    case CODE.full:
      return new TouchstonedError({
        code: "store_full",
        exitCode: EXIT.unavailable,
        message: `${path} cannot grow: the disk is full`,
        hint: "Make room; nothing of this change was kept.",
        cause,
      });
    case CODE.read_only:
      return notPermitted(path, cause);
    case CODE.cannot_open:
    case CODE.io:
      return new TouchstonedError({
        code: "store_io",
        exitCode: EXIT.unavailable,
        message: `${path}: ${message}`,
        hint: "The disk or its file system refuses; see the system's log. Then start again.",
        cause,
      });
    case CODE.corrupt:
    case CODE.not_a_database:
      return unreadable(path, cause);
    default:
      return cause;
  }
}
