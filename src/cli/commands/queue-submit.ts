import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isoTime } from "../../core/clock.ts";
import { realDisk } from "../../core/disk.ts";
import { EXIT, inputError, systemErrorCode, TouchstonedError } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { isAlive } from "../../core/process-table.ts";
import { readSnapshot, type Setting } from "../../daemon/index.ts";
import { judgeName, stationTrust, submitFile } from "../../intake/index.ts";
import { MAX_QUEUE_FILE_BYTES } from "../../queue/index.ts";
import { requireInbox } from "../../station/index.ts";
import { realLoaders, takeUp } from "../../steps/index.ts";
import type { CommandAction } from "../context.ts";
import { commandSetting, type StationOptions } from "../queue-store.ts";

export interface QueueSubmitOptions extends StationOptions {
  files: string[];
  rename?: boolean;
  /** Drop it although it will be rejected. */
  force?: boolean;
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = systemErrorCode(error) ?? "unknown error";
    const what = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
    throw inputError(`${path}: ${what}`, "Check the path.", "no_such_file");
  }
}

/** Throws the input error for which the daemon would reject the file. */
function proveFile({ station, context }: Setting, path: string, bytes: Buffer): void {
  // A name or a size that is wrong is `submitFile`'s to refuse.
  if (judgeName(basename(path)).kind !== "candidate") return;
  if (bytes.length === 0 || bytes.length > MAX_QUEUE_FILE_BYTES) return;
  try {
    takeUp(path, bytes, context, realLoaders(station, { strict_cache: true }));
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    const force = "--force drops it all the same; it will then be rejected.";
    const hint = error.hint === undefined ? force : `${error.hint} (${force})`;
    const { code, message } = error;
    throw new TouchstonedError({ code, exitCode: EXIT.bad_input, message, hint, cause: error });
  }
}

/** Why nothing of the inbox is taken up, whether a daemon runs or not; null where files are. */
function blockedBy({ station, inbox, env }: Setting): string | null {
  if (!station.trusted) return `this station is not trusted: ${station.trust_reason ?? ""}`;
  return stationTrust(inbox, env).inbox();
}

function whenText(taken_up: string | null, blocked: string | null): string {
  if (blocked !== null) return `is there, but nothing is taken up: ${blocked}`;
  if (taken_up === null) return "will be taken up when a daemon runs (touchstoned daemon)";
  return `will be taken up about ${taken_up}`;
}

export const run: CommandAction<QueueSubmitOptions> = async (options, context) => {
  const { terminal, clock, cwd } = context;
  const setting = await commandSetting(options, context);
  const { inbox, new_id, files, station } = setting;
  // All are read before the first is dropped: a wrong name must not leave half of them there.
  const given = options.files.map((file) => {
    const path = resolve(cwd, file);
    const bytes = bytesOf(path);
    if (options.force !== true) proveFile(setting, path, bytes);
    return { name: basename(path), bytes };
  });
  requireInbox(station.root);
  ensureDir(inbox);
  const snapshot = readSnapshot(files.snapshot);
  const daemon = snapshot !== undefined && isAlive(snapshot.process);
  const { min_age_seconds } = station.settings.inbox;
  const blocked = blockedBy(setting);
  const dropped = given.map(({ name, bytes }) => {
    const if_taken = options.rename === true ? "rename" : "refuse";
    const as = submitFile({ disk: realDisk, new_id, inbox, name, bytes, if_taken });
    const taken_up =
      daemon && blocked === null ? isoTime(clock.now_ms() + min_age_seconds * 1000) : null;
    return { file: name, path: join(inbox, as), taken_up, blocked };
  });
  if (options.json === true) terminal.json(dropped);
  for (const { path, taken_up } of options.json === true ? [] : dropped) {
    terminal.out(`${path}: ${whenText(taken_up, blocked)}`);
  }
  return EXIT.done;
};
