import { styleText } from "node:util";
import { shown } from "./shown.ts";

/**
 * The only place that writes to the terminal. Answers go to stdout, everything said beside them to
 * stderr, so that a script may read the one and a person the other.
 */
export interface Terminal {
  /** A line of the answer. */
  out(text: string): void;
  /** A line beside the answer: progress, warnings, errors. */
  err(text: string): void;
  /** The answer as one JSON document. */
  json(value: unknown): void;
  /** True where a person watches and lines may be redrawn. */
  readonly interactive: boolean;
  /** Replaces the line that is being redrawn; an empty text takes it away. Nothing without a TTY. */
  status(text: string): void;
  style(format: "bold" | "dim" | "green" | "red" | "yellow" | "cyan", text: string): string;
}

interface Streams {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

const CLEAR_LINE = "\r\u001B[2K";

export function terminal(streams: Streams = process): Terminal {
  const { stdout, stderr } = streams;
  const interactive = stderr.isTTY && process.env["TERM"] !== "dumb";
  let statusShown = false;
  const clearStatus = (): void => {
    if (statusShown) stderr.write(CLEAR_LINE);
    statusShown = false;
  };
  return {
    interactive,
    out(text) {
      clearStatus();
      stdout.write(`${shown(text)}\n`);
    },
    err(text) {
      clearStatus();
      stderr.write(`${shown(text)}\n`);
    },
    json(value) {
      clearStatus();
      stdout.write(`${JSON.stringify(value, null, 2)}\n`);
    },
    status(text) {
      if (!interactive) return;
      clearStatus();
      if (text === "") return;
      // One row only: a wrapped line could not be taken back.
      stderr.write(shown(text).slice(0, Math.max(20, (stderr.columns ?? 80) - 1)));
      statusShown = true;
    },
    style: (format, text) => styleText(format, text, { stream: stderr }),
  };
}

/** `[#####-----]  50 %`, `width` characters inside the brackets. */
export function bar(share: number, width = 24): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return `[${"#".repeat(full)}${"-".repeat(width - full)}] ${String(Math.round(share * 100)).padStart(3)} %`;
}

/** `1 h 02 min`, `3 min 05 s`, `12 s`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) return `${minutes} min ${String(rest).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/**
 * A night does not end because nobody reads what it says: a closed pipe behind stdout or stderr, or
 * a full disk under a log, would otherwise end the process at its next line. What matters is in
 * files.
 */
export function outliveReaders(): { lostAnswer: boolean } {
  const state = { lostAnswer: false };
  process.stdout.on("error", () => (state.lostAnswer = true));
  process.stderr.on("error", () => undefined);
  return state;
}
