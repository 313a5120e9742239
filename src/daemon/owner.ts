import { hostname } from "node:os";
import { EXIT, TouchstonedError, errorMessage } from "../core/errors.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { isAlive, processIdentity, type ProcessIdentity } from "../core/process-table.ts";
import type { OwnerVerdict, RegisteredOwner, Store } from "../store/index.ts";

const BEAT_MS = 60_000;
/** A host with more daemons than this has another problem. */
const MOST_OWNERS = 99;

export interface Registered {
  id: string;
  host: string;
  identity: ProcessIdentity;
}

function ownIdentity(): ProcessIdentity {
  const identity = processIdentity(process.pid);
  if (identity === undefined) throw new Error("the process table does not show this process");
  return identity;
}

/** Registers this process under its host's name, or `-2`, `-3` where that one is taken. */
export async function registerOwner(
  store: Pick<Store, "register">,
  now_ms: number,
  identity: ProcessIdentity = ownIdentity(),
  host: string = hostname(),
): Promise<Registered> {
  for (let n = 1; n <= MOST_OWNERS; n += 1) {
    const id = n === 1 ? host : `${host}-${n}`;
    const outcome = await store.register({ id, host, ...identity }, now_ms);
    if (outcome.ok) return { id, host, identity };
    if (outcome.code !== "owner_taken") break;
  }
  throw new TouchstonedError({
    code: "too_many_owners",
    exitCode: EXIT.failed,
    message: `${MOST_OWNERS} runners are registered for ${host}`,
    hint: "`touchstoned fsck` shows what is wrong with the store.",
  });
}

/** Whether an owner lives: proven on this host, unknown on any other. */
export function ownerProof(host: string): (owner: RegisteredOwner) => OwnerVerdict {
  return (owner) => {
    if (owner.host !== host) return "unknown";
    return isAlive(owner) ? "alive" : "dead";
  };
}

export interface HeartbeatOptions {
  store: Pick<Store, "beat" | "register" | "reap">;
  owner: Registered;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  /** Called after a reaping that found something. */
  onReaped: () => void;
}

/** One beat, and the reaping that goes with it. Never throws: the next beat tries again. */
export async function beatOnce(options: Omit<HeartbeatOptions, "signal">): Promise<void> {
  const { store, owner, clock, log } = options;
  try {
    const outcome = await store.beat(owner.id, clock.now_ms());
    if (!outcome.ok) {
      // Somebody gave us up; a job that we may still run is fenced, and its result will be refused.
      log.warn({ owner: owner.id }, `not registered any more: ${outcome.reason}`);
      await store.register({ id: owner.id, host: owner.host, ...owner.identity }, clock.now_ms());
    }
    const report = await store.reap(clock.now_ms(), ownerProof(owner.host));
    if (report.owners.length === 0) return;
    log.warn(report, "reaped owners that are dead");
    options.onReaped();
  } catch (error) {
    log.warn({ error: errorMessage(error) }, "heartbeat failed");
  }
}

/** Beats once a minute until the signal. Runs beside the loop, so nothing there holds it up. */
export async function heartbeat(options: HeartbeatOptions): Promise<void> {
  for (;;) {
    await options.clock.sleep(BEAT_MS, options.signal);
    if (options.signal.aborted) return;
    await beatOnce(options);
  }
}
