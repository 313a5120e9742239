import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, systemErrorCode } from "../core/errors.ts";
import { createFileAtomic, ensureDir } from "../core/files.ts";

const REQUESTS_DIR = "requests";

/** A wish to have a model measured with a runner of machine.yaml. Loads no schema library. */
export interface CalibrationRequest {
  schema: "touchstoned/slot-request/1";
  key: string;
  /** Name of the runner in machine.yaml. */
  runner: string;
  model: string;
  /** The first one; later ones change nothing. */
  reason: string;
  /** RFC 3339 */
  requested: string;
}

/**
 * One wish for each runner and model. Not the key of evidence: an upgrade of the runner makes other
 * evidence necessary, and the work to do is the same.
 */
export function requestKey(runner: string, model: string): string {
  return createHash("sha256")
    .update(JSON.stringify([runner, model]))
    .digest("hex")
    .slice(0, 16);
}

function requestPath(state_dir: string, key: string): string {
  return join(state_dir, REQUESTS_DIR, `${key}.json`);
}

/** Puts a wish down, once. Gives its path, or why it could not be written. */
export function writeRequest(
  state_dir: string,
  wish: { runner: string; model: string; reason: string; now_ms: number },
): { path: string; made: boolean; fault: string | null } {
  const key = requestKey(wish.runner, wish.model);
  const path = requestPath(state_dir, key);
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) {
    return { path, made: false, fault: null };
  }
  const request: CalibrationRequest = {
    schema: "touchstoned/slot-request/1",
    key,
    runner: wish.runner,
    model: wish.model,
    reason: wish.reason,
    requested: new Date(wish.now_ms).toISOString(),
  };
  try {
    ensureDir(join(state_dir, REQUESTS_DIR), 0o700);
    createFileAtomic(path, `${JSON.stringify(request, null, 2)}\n`, 0o600);
    return { path, made: true, fault: null };
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return { path, made: false, fault: null };
    return { path, made: false, fault: errorMessage(error) };
  }
}

function readRequest(path: string): CalibrationRequest | undefined {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as Partial<CalibrationRequest> | null;
    const texts = [value?.key, value?.runner, value?.model, value?.reason, value?.requested];
    const known = value?.schema === "touchstoned/slot-request/1";
    return known && texts.every((text) => typeof text === "string")
      ? (value as CalibrationRequest)
      : undefined;
  } catch {
    return undefined; // gone meanwhile, or not ours
  }
}

/** The open wishes, oldest first. */
export function openRequests(state_dir: string): CalibrationRequest[] {
  let names: string[];
  try {
    names = readdirSync(join(state_dir, REQUESTS_DIR));
  } catch {
    return []; // there was never one
  }
  return names
    .filter((name) => /^[0-9a-f]{16}\.json$/.test(name))
    .flatMap((name) => readRequest(join(state_dir, REQUESTS_DIR, name)) ?? [])
    .sort((one, other) => one.requested.localeCompare(other.requested));
}

/** Takes a wish away: it was fulfilled by evidence. */
export function clearRequest(state_dir: string, runner: string, model: string): void {
  try {
    unlinkSync(requestPath(state_dir, requestKey(runner, model)));
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT") throw error;
  }
}
