import type { Clock } from "../core/clock.ts";
import { runTool } from "../core/tool.ts";
import { ServicePulse, type ServiceManager } from "./pulse.ts";

/** Normally it takes milliseconds; it waits until the manager has read what it sent. */
const LIMIT_S = 10;
const PLACES = "/usr/bin:/bin";

export interface NotifyOptions {
  manager: ServiceManager;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  line: () => string;
  warn: (text: string) => void;
}

/** Node cannot open sockets of that kind: the program that comes with systemd sends for us. */
export function servicePulse({ manager, clock, env, line, warn }: NotifyOptions): ServicePulse {
  const given = { PATH: env["PATH"] ?? PLACES, NOTIFY_SOCKET: manager.socket };
  return new ServicePulse({
    watchdog_ms: manager.watchdog_ms,
    clock,
    line,
    warn,
    send: (pairs) => runTool("systemd-notify", pairs, { timeout_s: LIMIT_S, env: given }),
  });
}
