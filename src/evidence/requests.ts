import { createHash } from "node:crypto";
import { readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { systemErrorCode } from "../core/errors.ts";
import { createFileAtomic, ensureDir, readTextIfThere } from "../core/files.ts";

/** Somebody asked for a number that nothing proves (yet). */
export interface CalibrationRequest {
  key: string;
  /** Name of the runner in machine.yaml, and the model as it calls it; null where that was not said. */
  runner: string | null;
  model: string | null;
  /** The first one that was given. */
  reason: string;
  requested_at: string;
}

const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;

/**
 * Key of the request for a model on runners of a kind. Not the key of evidence: an upgrade of the
 * runner makes other evidence necessary, and the work to do is the same.
 */
export function requestKey(runner_kind: string, model: string): string {
  const text = JSON.stringify([runner_kind, model]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function requestsDir(state_dir: string): string {
  return join(state_dir, "requests");
}

export function requestPath(state_dir: string, key: string): string {
  if (!KEY.test(key)) throw new RangeError(`no key of a request: ${JSON.stringify(key)}`);
  return join(requestsDir(state_dir), `${key}.json`);
}

/** Asks for a calibration. The first reason stays, however often it is asked for. True: it is new. */
export function requestCalibration(
  state_dir: string,
  request: { key: string; reason: string; runner?: string | null; model?: string | null },
  now_ms: number,
): boolean {
  const { key, reason, runner = null, model = null } = request;
  const path = requestPath(state_dir, key);
  // Asked for many times a minute, and mostly there.
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return false;
  ensureDir(requestsDir(state_dir), 0o700);
  const requested_at = isoTime(now_ms);
  const content: CalibrationRequest = { key, runner, model, reason, requested_at };
  try {
    createFileAtomic(path, `${JSON.stringify(content)}\n`, 0o600);
    return true;
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Asks once more: what keeps an open request waiting counts no longer. False where there is none. */
export function askAgain(state_dir: string, key: string, now_ms: number): boolean {
  try {
    utimesSync(requestPath(state_dir, key), now_ms / 1000, now_ms / 1000);
    return true;
  } catch {
    return false; // it was answered just now
  }
}

/** When it was asked for last, milliseconds since 1970; 0 where there is no such request. */
export function requestAskedMs(state_dir: string, key: string): number {
  return statSync(requestPath(state_dir, key), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The open request for `key`; undefined where there is none. One that cannot be read counts. */
export function openRequest(state_dir: string, key: string): CalibrationRequest | undefined {
  const text = readTextIfThere(requestPath(state_dir, key));
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Partial<CalibrationRequest>;
    const { reason = "not known", requested_at = "", runner = null, model = null } = value;
    return { key, runner, model, reason, requested_at };
  } catch {
    const reason = "not known: its file cannot be read";
    return { key, runner: null, model: null, reason, requested_at: "" };
  }
}

/** All open requests, oldest first. */
export function openRequests(state_dir: string): CalibrationRequest[] {
  let names: string[];
  try {
    names = readdirSync(requestsDir(state_dir));
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith(".json") && KEY.test(name.slice(0, -5)))
    .map((name) => openRequest(state_dir, name.slice(0, -5)))
    .filter((request) => request !== undefined)
    .sort((a, b) => (a.requested_at < b.requested_at ? -1 : 1));
}

/** Whole evidence for `key` is there: nobody waits for it any more. */
export function closeRequest(state_dir: string, key: string): void {
  rmSync(requestPath(state_dir, key), { force: true });
}
