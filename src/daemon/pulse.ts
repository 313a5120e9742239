import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/tool.ts";

/** How a service manager wants to hear of us (the protocol of sd_notify). */
export interface ServiceManager {
  socket: string;
  /** It ends us after so long a silence; null: it does not ask for signs of life. */
  watchdog_ms: number | null;
  /** The variables that said so, for the process that this one becomes. */
  variables: Record<string, string>;
}

type Variables = Record<string, string | undefined>;

/**
 * Takes what the service manager said out of `env`, so that no child can speak for the daemon. Null
 * where none listens.
 */
export function takeServiceManager(env: Variables, pid: number): ServiceManager | null {
  const variables: Record<string, string> = {};
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) {
    const value = env[name];
    if (value !== undefined && value !== "") variables[name] = value;
    delete env[name];
  }
  const socket = variables["NOTIFY_SOCKET"];
  if (socket === undefined) return null;
  const asked_ms = Number(variables["WATCHDOG_USEC"] ?? 0) / 1000;
  const whom = variables["WATCHDOG_PID"];
  const ours = asked_ms > 0 && (whom === undefined || whom === String(pid));
  return { socket, watchdog_ms: ours ? asked_ms : null, variables };
}

/** What the loop tells of itself. */
export interface Pulse {
  /** A wait is to be cut into pieces of at most that. */
  readonly longest_ms: number;
  /** One more thing was done: the loop does not hang. */
  alive(): void;
  /** A round was finished. */
  round(): void;
  /** A stop was asked for. */
  stopping(): void;
}

export interface ServicePulseOptions {
  watchdog_ms: number | null;
  clock: Pick<Clock, "monotonic_ms">;
  /** Sends `NAME=VALUE` pairs to the service manager. */
  send: (pairs: readonly string[]) => Promise<ToolResult>;
  /** What the daemon does, in one line. */
  line: () => string;
  warn: (text: string) => void;
}

/** However short the watchdog's patience is. */
const SHORTEST_MS = 500;
/** Between two states in words: each costs a process. */
const STATUS_MS = 1000;
const ALIVE = "WATCHDOG=1";

function failure({ error, exit_code, signal, stderr }: ToolResult): string | null {
  if (error !== null) return error;
  if (exit_code === 0) return null;
  return stderr.trim() || (signal === null ? `exit ${exit_code ?? "?"}` : signal);
}

/**
 * Tells a service manager what the loop does. It says nothing by itself: all of it comes from what the
 * loop has finished, so one that hangs falls silent. Never waits and never throws.
 */
export class ServicePulse implements Pulse {
  readonly longest_ms: number;
  readonly #options: ServicePulseOptions;
  /** What is to be sent next, whatever else comes. */
  #pairs = new Set<string>();
  #ready = false;
  #line: string | null = null;
  #sent_ms = -Infinity;
  #sending: Promise<void> | null = null;
  #failed = false;
  #mute = false;

  constructor(options: ServicePulseOptions) {
    this.#options = options;
    const half_ms = options.watchdog_ms === null ? Infinity : options.watchdog_ms / 2;
    this.longest_ms = Math.max(SHORTEST_MS, half_ms);
  }

  #words(): string {
    return this.#options.line().replaceAll(/\s+/g, " ");
  }

  #since(): number {
    return this.#options.clock.monotonic_ms() - this.#sent_ms;
  }

  alive(): void {
    // Not for each of many small things, and early enough for the next one to take its time.
    if (!this.#ready || this.#since() < this.longest_ms / 2) return;
    this.#send(ALIVE);
  }

  round(): void {
    if (!this.#ready) {
      this.#ready = true;
      this.#send("READY=1");
    } else if (this.#line !== this.#words() && this.#since() >= STATUS_MS) this.#send();
    else this.alive();
  }

  stopping(): void {
    this.#send("STOPPING=1");
  }

  #send(...pairs: string[]): void {
    for (const pair of pairs) this.#pairs.add(pair);
    if (this.#mute || this.#sending !== null) return;
    const line = this.#words();
    const all = [...this.#pairs, `STATUS=${line}`];
    if (this.#options.watchdog_ms !== null && !this.#pairs.has(ALIVE)) all.push(ALIVE);
    this.#pairs = new Set();
    [this.#line, this.#sent_ms] = [line, this.#options.clock.monotonic_ms()];
    this.#sending = this.#deliver(all);
  }

  async #deliver(pairs: readonly string[]): Promise<void> {
    const result = await this.#options.send(pairs);
    this.#sending = null;
    this.#judge(result, pairs);
    if (this.#pairs.size > 0) this.#send();
  }

  #judge(result: ToolResult, pairs: readonly string[]): void {
    const why = failure(result);
    if (why === null) {
      this.#failed = false;
      return;
    }
    this.#mute = why.includes("ENOENT") && result.error !== null;
    const what = "the service manager cannot be told that the daemon is ready and lives";
    const advice = this.#mute
      ? "systemd-notify is not installed; without it take a unit of Type=exec and no WatchdogSec"
      : `systemd-notify: ${why}`;
    if (!this.#failed) this.#options.warn(`${what}: ${advice}`);
    this.#failed = true;
    if (this.#mute) return;
    // What it missed is said again with the next sign of life.
    this.#sent_ms = -Infinity;
    if (pairs.includes("READY=1")) this.#ready = false;
  }

  /** When nothing is on its way any more. */
  async settled(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
  }
}
