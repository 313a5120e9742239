import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";
import { systemErrorCode } from "../../core/errors.ts";
import { parseJsonLenient } from "../../core/json.ts";
import { printable } from "../../core/text.ts";
import { firstLine, type ServiceHost } from "./host.ts";
import { installedKind, type Wanted } from "./choice.ts";
import { installedKinds } from "./inspect.ts";
import { placesOf, UNIT } from "./places.ts";
import { readRecord, type ServiceRecord } from "./record.ts";

const LEVELS: Record<number, string> = { 40: "warning", 50: "error", 60: "fatal" };
/** Of the end of a log; the log itself is bounded by its rotation. */
const MOST_BYTES = 4 << 20;
const LOOK_MS = 500;

/** One line of the daemon's log for a person; lines that are no record are shown as they are. */
export function logText(line: string): string {
  const row = parseJsonLenient(line);
  if (typeof row !== "object" || row === null) return printable(line);
  const { time, level, msg, ...rest } = row as Record<string, unknown>;
  const parts = [typeof time === "string" ? time : "?", LEVELS[Number(level)] ?? ""];
  const more = Object.keys(rest).length === 0 ? "" : JSON.stringify(rest);
  const said = typeof msg === "string" ? msg : "";
  return printable([...parts, said, more].filter((part) => part !== "").join("  "));
}

/** A log that is written meanwhile, and may be replaced by a new one of its name. */
export class LogTail {
  readonly #path: string;
  #fd: number | null = null;
  #at = 0;
  #half = "";

  constructor(path: string) {
    this.#path = path;
  }

  #open(): boolean {
    if (this.#fd !== null) return true;
    try {
      this.#fd = openSync(this.#path, "r");
    } catch (error) {
      if (systemErrorCode(error) === "ENOENT") return false;
      throw error;
    }
    return true;
  }

  /** Whole lines that came since the last call; `null` where there is no log. */
  read(): string[] | null {
    if (!this.#open() || this.#fd === null) return null;
    const lines: string[] = [];
    this.#drain(lines);
    const there = statSync(this.#path, { throwIfNoEntry: false });
    const ours = fstatSync(this.#fd);
    const replaced = there !== undefined && (there.ino !== ours.ino || there.dev !== ours.dev);
    if (replaced || ours.size < this.#at) {
      this.close();
      if (this.#open()) this.#drain(lines);
    }
    return lines;
  }

  #drain(lines: string[]): void {
    const fd = this.#fd;
    if (fd === null) return;
    const { size } = fstatSync(fd);
    // What lies further back is not shown; the first line is then a half one.
    const cut = this.#at === 0 && size > MOST_BYTES;
    if (cut) this.#at = size - MOST_BYTES;
    const bytes = Buffer.alloc(Math.max(0, size - this.#at));
    const length = readSync(fd, bytes, 0, bytes.length, this.#at);
    this.#at += length;
    const parts = (this.#half + bytes.toString("utf8", 0, length)).split("\n");
    this.#half = parts.pop() ?? "";
    lines.push(...(cut ? parts.slice(1) : parts));
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
    this.#at = 0;
    this.#half = "";
  }
}

export interface LogOptions {
  path: string;
  /** The last so many. */
  lines: number;
  follow: boolean;
  clock: Clock;
  signal: AbortSignal;
  onLine: (line: string) => void;
}

/** Shows the end of a log, and, with `follow`, what comes. False where there is none. */
export async function showLog(options: LogOptions): Promise<boolean> {
  const { path, lines, follow, clock, signal, onLine } = options;
  const tail = new LogTail(path);
  try {
    const first = tail.read();
    for (const line of lines === 0 ? [] : (first ?? []).slice(-lines)) onLine(line);
    if (!follow) return first !== null;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal);
      for (const line of tail.read() ?? []) onLine(line);
    }
    return true;
  } finally {
    tail.close();
  }
}

/** The record of the service that `logs` means; undefined where none is installed. */
export function installedService(
  host: ServiceHost,
  wanted: Wanted | undefined,
): ServiceRecord | undefined {
  if (wanted === undefined && installedKinds(host).length === 0) return undefined;
  return readRecord(placesOf(installedKind(host, wanted), host));
}

/** Where the words of the launcher and of a daemon that cannot log are. */
export function keptBy({ manager, crash_log }: ServiceRecord): string {
  if (manager === "systemd-user") return `journalctl --user -u ${UNIT}`;
  return manager === "systemd-system" ? `journalctl -u ${UNIT}` : crash_log;
}

/** What the launcher and a daemon that could not log said, by who kept it: the last lines. */
export async function managerLog(host: ServiceHost, record: ServiceRecord, lines: number) {
  const { manager, crash_log } = record;
  if (manager !== "systemd-user" && manager !== "systemd-system") {
    const tail = new LogTail(crash_log);
    const said = tail.read() ?? [];
    tail.close();
    return said.slice(-lines);
  }
  const own = manager === "systemd-user" ? ["--user"] : [];
  const words = [...own, "-u", UNIT, "-n", String(lines), "--no-pager", "-o", "cat"];
  const told = await host.run("journalctl", words);
  return told.ok ? told.stdout.trimEnd().split("\n") : [`journalctl: ${firstLine(told)}`];
}
