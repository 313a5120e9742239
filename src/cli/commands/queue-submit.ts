import { readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isoTime } from "../../core/clock.ts";
import { realDisk } from "../../core/disk.ts";
import { EXIT, inputError, systemErrorCode } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { isAlive } from "../../core/process-table.ts";
import { readSnapshot } from "../../daemon/index.ts";
import { submitFile } from "../../intake/index.ts";
import type { CommandAction } from "../context.ts";
import { commandSetting, type StationOptions } from "../queue-store.ts";

export interface QueueSubmitOptions extends StationOptions {
  files: string[];
  rename?: boolean;
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

export const run: CommandAction<QueueSubmitOptions> = async (options, context) => {
  const { terminal, clock, cwd } = context;
  const { inbox, new_id, files, station } = await commandSetting(options, context);
  // All are read before the first is dropped: a wrong name must not leave half of them there.
  const given = options.files.map((file) => {
    const path = resolve(cwd, file);
    return { name: basename(path), bytes: bytesOf(path) };
  });
  ensureDir(inbox);
  const snapshot = readSnapshot(files.snapshot);
  const daemon = snapshot !== undefined && isAlive(snapshot.process);
  const { min_age_seconds } = station.settings.inbox;
  const dropped = given.map(({ name, bytes }) => {
    const if_taken = options.rename === true ? "rename" : "refuse";
    const as = submitFile({ disk: realDisk, new_id, inbox, name, bytes, if_taken });
    const taken_up = daemon ? isoTime(clock.now_ms() + min_age_seconds * 1000) : null;
    return { file: name, path: join(inbox, as), taken_up };
  });
  if (options.json === true) terminal.json(dropped);
  for (const { path, taken_up } of options.json === true ? [] : dropped) {
    const when =
      taken_up === null
        ? "will be taken up when a daemon runs (touchstoned daemon)"
        : `will be taken up about ${taken_up}`;
    terminal.out(`${path}: ${when}`);
  }
  return EXIT.done;
};
