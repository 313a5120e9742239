import { pino, type Logger } from "pino";
import { RotatingFile } from "./rotating-file.ts";

export type Log = Logger;

/** Of each diary: as much as a person may want to look back, and no disk is filled by it. */
const MAX_BYTES = 10_000_000;
const FILES = 5;

/**
 * A diary, one JSON object a line, written synchronously so that the last line before a crash is
 * there; of limited size, and for its owner's eyes. Nothing secret is logged even so: callers pass
 * names, never keys or prompt texts. A full disk costs it lines, and its user nothing.
 */
export function fileLog(path: string): Log {
  const file = new RotatingFile({
    path,
    max_bytes: MAX_BYTES,
    files: FILES,
    mode: 0o600,
    now_ms: Date.now,
  });
  return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, file);
}

export function silentLog(): Log {
  return pino({ enabled: false });
}
