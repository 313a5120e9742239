import { syncedBy, privateFolder } from "../synced-folder.ts";
import { mountKind, mountOf, mountText, type Mount, type MountKind } from "../mounts.ts";
import { failure, ok, warning, type Line } from "../line.ts";

/** A folder of ours that must be able to bear what is done in it. */
export interface Folder {
  what: "station" | "state" | "runs" | "model lock";
  /** Links resolved; the nearest one that is there. */
  path: string;
}

export interface FoldersInput {
  folders: readonly Folder[];
  mounts: readonly Mount[] | null;
  home: string | null;
  platform: NodeJS.Platform;
  isThere: (path: string) => boolean;
  /** Why the daemon would not use its own directories, each with the command that mends it. */
  faults: readonly string[];
}

/** Databases and locks need a file system that is this machine's own. */
const EXACTING = new Set<Folder["what"]>(["state", "model lock"]);

const MOVE: Readonly<Record<Folder["what"], string>> = {
  station: "Move the station to a disk of this machine, then: touchstoned init THERE",
  state: "Set XDG_STATE_HOME to a folder on a disk of this machine.",
  runs: "Give runs_dir in machine.yaml a folder on a disk of this machine.",
  "model lock": "Give lock_path in machine.yaml a folder on a disk of this machine.",
};

const WHY_NOT_EXACTING: Readonly<Record<Exclude<MountKind, "local">, string>> = {
  network: "locks and databases do not hold on it",
  fuse: "it is a program that pretends to be a disk, and few of them keep locks",
  shared: "it is shared with the machine around this one, and locks do not reach across",
  memory: "everything in it is gone after a reboot, the queue as well",
  container: "it goes with the container, and the queue with it",
  no_owners: "it knows no owners and modes, so anybody could change what is in it",
};

const WHY_WATCH: Readonly<Record<Exclude<MountKind, "local">, string>> = {
  network:
    "changes made elsewhere are seen by looking only, up to a minute late, and a file may look whole before it is",
  fuse: "whether it tells of changes, and in which order, depends on the program behind it",
  shared:
    "changes made by the machine around this one are seen by looking only, up to a minute late",
  memory: "everything in it is gone after a reboot",
  container: "it goes with the container",
  no_owners: "it knows no owners and modes, so it cannot be told who may drop work into it",
};

function mountLine({ what, path }: Folder, mount: Mount): Line | null {
  const kind = mountKind(mount);
  const where = `the ${what} (${path}) ${what === "runs" ? "lie" : "lies"} on ${mountText(mount)}`;
  if (mount.read_only) return failure(`${where}, which is read-only`, MOVE[what]);
  if (kind === "local") return null;
  if (EXACTING.has(what) && kind !== "memory" && kind !== "container") {
    return failure(`${where}: ${WHY_NOT_EXACTING[kind]}`, MOVE[what]);
  }
  if (EXACTING.has(what)) return warning(`${where}: ${WHY_NOT_EXACTING[kind]}`, MOVE[what]);
  return warning(`${where}: ${WHY_WATCH[kind]}`, MOVE[what]);
}

function syncedLine({ what, path }: Folder, { home, isThere }: FoldersInput): Line | null {
  if (home === null) return null;
  const program = syncedBy(path, home, isThere);
  if (program === null) return null;
  return warning(
    `the ${what} (${path}) is kept in step with other machines by ${program}, which takes files away, brings them back and leaves copies`,
    `${MOVE[what]} (git is what carries a station from machine to machine.)`,
  );
}

function privateLine({ what, path }: Folder, { home, platform }: FoldersInput): Line | null {
  if (platform !== "darwin" || home === null) return null;
  const folder = privateFolder(path, home);
  if (folder === null) return null;
  return warning(
    `the ${what} (${path}) lies in ${folder}, which macOS shows to no background program unless you allow it`,
    `${MOVE[what]} (Or allow it in System Settings, Privacy & Security, Full Disk Access; you would allow it to every script of that Node.)`,
  );
}

/** `X; run: chmod ...`, or `X? (If so: ...)` */
function faultLine(fault: string): Line {
  const [what = fault, command] = fault.split("; run: ");
  if (command !== undefined)
    return failure(`the daemon does not use this: ${what}`, `Run: ${command}`);
  return failure(fault, "Nothing new begins until then.");
}

/** Whether the file systems bear what is done on them. */
export function folderLines(input: FoldersInput): Line[] {
  const { folders, mounts, faults } = input;
  const trouble = faults.map(faultLine);
  const found = folders.flatMap((folder) => {
    const mount = mounts === null ? null : mountOf(folder.path, mounts);
    const lines = [
      mount === null ? null : mountLine(folder, mount),
      syncedLine(folder, input),
      privateLine(folder, input),
    ];
    return lines.filter((line) => line !== null);
  });
  trouble.push(...found);
  if (trouble.length > 0) return trouble;
  if (mounts === null)
    return [ok("no folder of ours is known to be synced; file systems: not told")];
  const types = folders.map(({ path }) => mountOf(path, mounts)?.type ?? "?");
  return [
    ok(
      `station, state, runs and lock lie on this machine's own disks (${[...new Set(types)].join(", ")})`,
    ),
  ];
}
