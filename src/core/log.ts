import { pino, type Logger } from "pino";

export type Log = Logger;

/**
 * A diary of one run, one JSON object a line, written synchronously so that the last line before a
 * crash is there. Nothing secret is logged: callers pass names, never keys or prompt texts.
 */
export function fileLog(path: string): Log {
  const destination = pino.destination({ dest: path, sync: true, mkdir: true, append: true });
  // A full disk costs the diary a line; without a listener it would cost the whole process.
  destination.on("error", () => undefined);
  return pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

export function silentLog(): Log {
  return pino({ enabled: false });
}
