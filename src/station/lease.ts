import { closeSync } from "node:fs";
import { isoTime, type Clock } from "../core/clock.ts";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import { isAlive } from "../core/process-table.ts";
import {
  gatePath,
  leaseText,
  readLeaseInfo,
  removeLeaseInfo,
  slotNumbers,
  slotPath,
  writeLeaseInfo,
  type LeaseHolder,
} from "./lease-info.ts";
import { isFileAt, openLocked } from "./lock-file.ts";
import { lockStatus } from "./lock.ts";
import { passTurn } from "./lock-turn.ts";
import { variable, type Env } from "./paths.ts";

const SLOT_VARIABLE = "TOUCHSTONED_SLOT";

/** One of the slots, and the model lock shared, as long as this process lives. */
export interface Lease {
  readonly slot: number;
  /** Tells a child that it runs in a slot of ours. */
  readonly env: Readonly<Record<string, string>>;
  /** Gives it back. */
  end(): void;
}

export interface LeaseOptions {
  /** Path of the model lock; everything about slots lies beside it. */
  path: string;
  /** How many there may be now, and why; asked each time, under the gate. */
  allowed: () => Promise<{ allowed: number; reason: string }>;
  holder: LeaseHolder;
  /** Longest wait, seconds; 0 = do not wait. */
  wait_s: number;
  clock: Clock;
  signal?: AbortSignal;
  /** Called once, when there is something to wait for. */
  onWait?: (why: string) => void;
  random?: () => number;
}

const POLL_MS = { least: 100, spread: 200 };
const GATE_MS = { least: 5, spread: 20 };
/** The gate is held for as long as a runner may take to answer, and then some. */
const GATE_LIMIT_MS = 30_000;
const SECOND_LOOK_MS = 60;

/** What one look came to: a slot, or why there is none. */
type Look = { slot: number; fd: number } | { why: string };

/** Counts the taken slots and takes a free one where that leaves no more than are allowed. */
async function takeSlot(options: LeaseOptions): Promise<Look> {
  const { path, holder } = options;
  const { allowed, reason } = await options.allowed();
  const numbers = new Set(slotNumbers(path));
  for (let slot = 1; slot <= allowed; slot += 1) numbers.add(slot);
  let free: { slot: number; fd: number } | undefined;
  const taken: number[] = [];
  for (const slot of [...numbers].sort((a, b) => a - b)) {
    const fd = await openLocked(slotPath(path, slot), "exclusive");
    if (fd === undefined) taken.push(slot);
    else if (free === undefined) free = { slot, fd };
    else closeSync(fd);
  }
  const others = taken.map((slot) => readLeaseInfo(path, slot));
  const foreign = others.find(
    (info) => info !== undefined && (info.runner !== holder.runner || info.model !== holder.model),
  );
  if (free !== undefined && taken.length < allowed && foreign === undefined) return free;
  if (free !== undefined) closeSync(free.fd);
  if (taken.length < allowed && foreign !== undefined) {
    // What two models do side by side was never measured.
    return { why: `${leaseText(foreign)} uses model ${foreign.model ?? "unknown"}` };
  }
  const who = others.flatMap((info) => (info === undefined ? [] : [leaseText(info)]));
  const list = who.length === 0 ? "" : `: ${who.join(", ")}`;
  return { why: `${taken.length} of ${allowed} slots are taken${list} (${reason})` };
}

/** One after the other: between the count and the lock nobody else may take a slot. */
async function throughGate(options: LeaseOptions): Promise<Look> {
  const { path, clock, signal } = options;
  const random = options.random ?? Math.random;
  const deadline_ms = clock.monotonic_ms() + GATE_LIMIT_MS;
  for (;;) {
    const gate = await openLocked(gatePath(path), "exclusive");
    if (gate !== undefined) {
      try {
        return await takeSlot(options);
      } finally {
        closeSync(gate);
      }
    }
    if (clock.monotonic_ms() >= deadline_ms) return { why: "another one has been taking a slot" };
    await clock.sleep(GATE_MS.least + random() * GATE_MS.spread, signal);
  }
}

/** One try. The lock comes before the slot, and is not kept by one who only waits for a slot. */
async function tryOnce(options: LeaseOptions): Promise<(Look & { shared?: number }) | undefined> {
  const { path } = options;
  const shared = await passTurn(path, () => openLocked(path, "shared"));
  if (shared === undefined) return undefined;
  let look: Look | undefined;
  try {
    look = isFileAt(shared, path) ? await throughGate(options) : undefined;
  } finally {
    if (look === undefined || "why" in look) closeSync(shared);
  }
  return look === undefined || "why" in look ? look : { ...look, shared };
}

function busy(path: string, why: string): TouchstonedError {
  return new TouchstonedError({
    code: "slots_busy",
    exitCode: EXIT.busy,
    message: `no slot is free at ${path}: ${why}`,
    hint: "Try later, or wait for one (--wait SECONDS). `touchstoned slots status` says who has them.",
  });
}

async function whyLocked(path: string): Promise<string> {
  const { held, mode, text } = await lockStatus(path);
  if (held && mode === "exclusive") return `the model lock is ${text}`;
  return "somebody waits for the model lock, and those who share it let him pass";
}

function heldLease(options: LeaseOptions, slot: number, fd: number, shared: number): Lease {
  const { path } = options;
  let held = true;
  return {
    slot,
    env: { [SLOT_VARIABLE]: `${slot}:${process.pid}:${path}` },
    end() {
      if (!held) return;
      held = false;
      removeLeaseInfo(path, slot);
      closeSync(fd);
      closeSync(shared);
    },
  };
}

/**
 * Takes the model lock shared and one of the slots that are allowed at that moment. Both are kernel
 * locks and end with whoever holds them. Throws `slots_busy` (75) where none is free in time.
 */
export async function takeLease(options: LeaseOptions): Promise<Lease> {
  const { path, clock, signal } = options;
  const random = options.random ?? Math.random;
  const deadline_ms = clock.monotonic_ms() + options.wait_s * 1000;
  for (let look = 0; ; look += 1) {
    if (signal?.aborted === true) throw busy(path, "stopped while waiting");
    const got = await tryOnce(options);
    if (got !== undefined && "slot" in got && got.shared !== undefined) {
      const since = isoTime(clock.now_ms());
      writeLeaseInfo(path, got.slot, { ...options.holder, since });
      return heldLease(options, got.slot, got.fd, got.shared);
    }
    const left_ms = deadline_ms - clock.monotonic_ms();
    if (look === 0 || left_ms <= 0) {
      const why = got !== undefined && "why" in got ? got.why : await whyLocked(path);
      if (left_ms <= 0 && look > 0) throw busy(path, why);
      if (options.wait_s > 0) options.onWait?.(why);
    }
    const pause_ms = POLL_MS.least + random() * POLL_MS.spread;
    await clock.sleep(left_ms <= 0 ? SECOND_LOOK_MS : Math.min(pause_ms, left_ms), signal);
  }
}

/** True where the one who started us holds a slot, as he says beside the lock, and lives. */
export function inheritsLease(env: Env): boolean {
  const [, slot, pid, path] = /^(\d+):(\d+):(\/.*)$/.exec(variable(env, SLOT_VARIABLE) ?? "") ?? [];
  if (path === undefined) return false;
  const info = readLeaseInfo(path, Number(slot));
  return info !== undefined && info.pid === Number(pid) && isAlive(info);
}
