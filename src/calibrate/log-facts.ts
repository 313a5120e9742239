import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** What a server's log says of its slots. */
export interface LogShape {
  slots: number | null;
  /** Tokens that each slot can count on, also while the others are full. */
  context: number | null;
}

/** How often a log speaks of trouble. */
export interface LogCounts {
  loads: number;
  truncations: number;
  shifts: number;
  evictions: number;
  device_failures: number;
}

function lastMatch(text: string, pattern: RegExp): RegExpExecArray | undefined {
  return [...text.matchAll(pattern)].at(-1);
}

const SLOTS_LINE = /n_slots = (\d+), n_ctx_slot = (\d+)(?:, kv_unified = '(\w+)')?/g;
/** At higher verbosity, and in older builds: the context's own words. */
const SEQUENCES_LINE = /\bn_seq_max\s*=\s*(\d+)/g;
const SEQUENCE_CONTEXT_LINE = /\bn_ctx_(?:per_)?seq\s*=\s*(\d+)/g;

/**
 * The slots and the context of the last load in `text`. Where all slots share one unified cache each
 * may use all of it, but only its share is certain while the others are busy.
 */
export function logShape(text: string): LogShape {
  const line = lastMatch(text, SLOTS_LINE);
  if (line !== undefined) {
    const [slots, context] = [Number(line[1]), Number(line[2])];
    const shared = line[3] === "true" && slots > 1;
    return { slots, context: shared ? Math.floor(context / slots) : context };
  }
  const sequences = lastMatch(text, SEQUENCES_LINE);
  const context = lastMatch(text, SEQUENCE_CONTEXT_LINE);
  return {
    slots: sequences === undefined ? null : Number(sequences[1]),
    context: context === undefined ? null : Number(context[1]),
  };
}

const LOADS = /load_model: loading model\b|msg="starting (?:llama-)?(?:server|runner)/g;
const TRUNCATIONS = /\btruncated = [1-9]|truncating input|input (?:was )?truncated/gi;
const SHIFTS = /context shift|shifting context|\bn_discard\s*=\s*[1-9]/gi;
/** What a start says of shifts that it will not make. */
const NO_SHIFTS = /^.*\bshift\w*\b.*\b(?:not supported|disabled).*$/gim;
const EVICTIONS =
  /failed to find (?:free space|a memory slot)|context size has been exceeded|purging slot|kv cache is full/gi;
const DEVICE_FAILURES = /failed to decode|decode\(\) failed|command buffer \d+ failed/gi;

export function logCounts(text: string): LogCounts {
  const kept = text.replaceAll(NO_SHIFTS, "");
  const count = (pattern: RegExp): number => kept.match(pattern)?.length ?? 0;
  return {
    loads: count(LOADS),
    truncations: count(TRUNCATIONS),
    shifts: count(SHIFTS),
    evictions: count(EVICTIONS),
    device_failures: count(DEVICE_FAILURES),
  };
}

/**
 * A server's log as it grows. `recognised` is false where nothing in it is what llama.cpp writes: the
 * trouble that is not found in such a log may be there in other words.
 */
export class ServerLog {
  readonly #path: string;
  #at = 0;
  #recognised = false;

  constructor(path: string) {
    this.#path = path;
  }

  get recognised(): boolean {
    return this.#recognised;
  }

  /** What was written since the last look; undefined where it cannot be read. */
  more(): string | undefined {
    try {
      const fd = openSync(this.#path, "r");
      try {
        const bytes = Buffer.alloc(Math.max(0, fstatSync(fd).size - this.#at));
        const read = readSync(fd, bytes, 0, bytes.length, this.#at);
        this.#at += read;
        const text = bytes.subarray(0, read).toString("utf8");
        const { slots } = logShape(text);
        this.#recognised ||= slots !== null;
        return text;
      } finally {
        closeSync(fd);
      }
    } catch {
      return undefined;
    }
  }
}
