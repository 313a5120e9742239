import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { freeDiskMb } from "../../core/disk.ts";
import { isInside, lockPlace, runsFault } from "../../station/index.ts";
import { askingUser, modeFault } from "../../station/resident.ts";
import { readSnapshot } from "../snapshot.ts";
import type { ClockInput } from "./checks/clock.ts";
import type { DiskInput } from "./checks/disk.ts";
import type { Folder } from "./checks/folders.ts";
import type { LogInput } from "./checks/log.ts";
import { nearestThere, type FoundStation, type World } from "./world.ts";

// What the checks are asked about, as it is on this machine. Nothing here writes.

/** The folders that have to bear something, each as the nearest one that is there. */
export function foldersOf({ env, machine, station }: World): Folder[] {
  const lock = lockPlace(env, machine ?? {});
  const folders: Folder[] = [{ what: "model lock", path: nearestThere(dirname(lock.path)) }];
  if (station === null) return folders;
  const { root, state_dir, runs_dir } = station;
  return [
    { what: "station", path: nearestThere(root) },
    { what: "state", path: nearestThere(state_dir) },
    // Within the state they share its fate, which is told once.
    ...(isInside(state_dir, runs_dir)
      ? []
      : [{ what: "runs", path: nearestThere(runs_dir) } as const]),
    ...folders,
  ];
}

/**
 * What keeps the daemon from using its directories at all: whose they are, who may write them, and runs
 * whose disk is not there.
 */
export function ownFaults(station: FoundStation, home: string): string[] {
  const asker = askingUser(home);
  const faults = [station.state_dir, station.runs_dir].map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? null : modeFault(path, stats, asker);
  });
  return [...faults, runsFault({ id: "", ...station })].filter((fault) => fault !== null);
}

/** Files that may still be made where `path` is; null where the file system counts none. */
function freeFiles(path: string): number | null {
  try {
    const { files, ffree } = statfsSync(path);
    return files === 0 ? null : ffree;
  } catch {
    return null;
  }
}

export function disksOf({ root, state_dir, runs_dir, settings }: FoundStation): DiskInput {
  const places = [
    { what: "station", path: root },
    { what: "state", path: state_dir },
    { what: "runs", path: runs_dir },
  ];
  const seen = new Set<number>();
  return {
    min_free_mb: settings.limits.min_free_disk_mb,
    places: places.flatMap(({ what, path }) => {
      const there = nearestThere(path);
      const device = statSync(there).dev;
      // Two folders on one disk are one disk.
      if (seen.has(device)) return [];
      seen.add(device);
      return [{ what, path: there, free_mb: freeDiskMb(there), free_files: freeFiles(there) }];
    }),
  };
}

const TAIL_BYTES = 256 * 1024;

/** The end of a text file; empty where there is none. */
function tailOf(path: string): string {
  if (!existsSync(path)) return "";
  const fd = openSync(path, "r");
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString("utf8");
  } finally {
    closeSync(fd);
  }
}

type ClockSeen = Pick<ClockInput, "seen"> & { log_tail: string };

/** What was written with the time on it. */
export function clockSeen({ files }: FoundStation): ClockSeen {
  const seen: { what: string; at_ms: number }[] = [];
  const snapshot = readSnapshot(files.snapshot);
  if (snapshot !== undefined) {
    seen.push({ what: "what the daemon wrote last", at_ms: Date.parse(snapshot.updated) });
  }
  for (const [what, path] of [
    ["the queue's store", files.store],
    ["the daemon's log", files.log],
  ] as const) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined) seen.push({ what, at_ms: stat.mtimeMs });
  }
  return { seen, log_tail: tailOf(files.log) };
}

/** Every log of the state: the daemon's own, what was rotated away from it, and what was installed. */
export function logsOf({ state_dir }: FoundStation): LogInput["files"] {
  const folders = [state_dir, join(state_dir, "logs")].filter((path) => existsSync(path));
  return folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /\.log(?:\.|$)|\.(?:out|err)$/.test(name))
      .map((name) => ({ path: join(folder, name), mb: statSync(join(folder, name)).size / 1e6 })),
  );
}
