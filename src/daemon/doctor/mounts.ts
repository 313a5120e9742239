/** The file system that holds a path. */
export interface Mount {
  /** Where it is mounted. */
  at: string;
  /** As the system calls it: `ext4`, `nfs4`, `fuse.sshfs`, `apfs`. */
  type: string;
  /** What is mounted: a device, `server:/export`, `//server/share`. */
  source: string;
  read_only: boolean;
}

/** `\040` and the like, as the kernel writes blanks and line ends. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** /proc/self/mountinfo of Linux, see proc_pid_mountinfo(5). */
export function linuxMounts(mountinfo: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of mountinfo.split("\n")) {
    const [mine = "", theirs] = line.split(" - ");
    if (theirs === undefined) continue;
    const [at, options] = mine.split(" ").slice(4, 6);
    const [type, source, superblock] = theirs.split(" ");
    if (at === undefined || type === undefined) continue;
    const set = `${options ?? ""},${superblock ?? ""}`.split(",");
    const read_only = set.includes("ro");
    mounts.push({ at: unescaped(at), type, source: unescaped(source ?? ""), read_only });
  }
  return mounts;
}

/** What `mount` of macOS says: `SOURCE on PLACE (TYPE, OPTION, ...)`. */
export function darwinMounts(output: string): Mount[] {
  const mounts: Mount[] = [];
  for (const line of output.split("\n")) {
    const match = /^(.+?) on (\/.*) \(([^()]+)\)$/.exec(line);
    if (match === null) continue;
    const [, source = "", at = "", said = ""] = match;
    const [type = "", ...options] = said.split(", ");
    mounts.push({ at, type, source, read_only: options.includes("read-only") });
  }
  return mounts;
}

function isBelow(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/**
 * The mount that holds `path` (absolute, links resolved): the deepest one, and of two in one place the
 * later one, which covers the other. macOS shows what of `/` can be written in another volume, whose
 * paths do not tell.
 */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | null {
  let best: Mount | null = null;
  for (const mount of mounts) {
    if (!isBelow(path, mount.at)) continue;
    if (best === null || mount.at.length >= best.at.length) best = mount;
  }
  const data = mounts.find(({ at }) => at === "/System/Volumes/Data");
  return best?.at === "/" && data !== undefined ? data : best;
}

export type MountKind =
  | "local"
  /** A file server in the network. */
  | "network"
  /** A program that pretends to be a disk. */
  | "fuse"
  /** A folder of the host of this virtual machine. */
  | "shared"
  /** Gone after a reboot. */
  | "memory"
  /** Gone with the container. */
  | "container"
  /** A disk that knows no owners and modes. */
  | "no_owners";

const NETWORK = new Set(
  (
    "nfs nfs4 cifs smb2 smb3 smbfs afpfs webdav davfs ceph afs glusterfs lustre gfs2 ocfs2 beegfs " +
    "gpfs ncpfs coda autofs"
  ).split(" "),
);
const NETWORK_FUSE =
  /sshfs|rclone|gvfsd|davfs|s3fs|gcsfuse|glusterfs|curlftpfs|smb|nfs|drive|dropbox|goofys/;
const NO_OWNERS = new Set(["vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk"]);
const SHARED = new Set(["9p", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "fuse.vmhgfs-fuse"]);

export function mountKind({ type, at }: Mount): MountKind {
  if (SHARED.has(type)) return "shared";
  if (NO_OWNERS.has(type)) return "no_owners";
  if (NETWORK.has(type)) return "network";
  if (type.startsWith("fuse") || /^(?:mac|osx)fuse/.test(type)) {
    return NETWORK_FUSE.test(type) ? "network" : "fuse";
  }
  if (type === "tmpfs" || type === "ramfs") return "memory";
  return type === "overlay" && at === "/" ? "container" : "local";
}

/** What a mount is, in words: `NFS (server:/export)`. */
export function mountText({ type, source }: Mount): string {
  return ["", "none", type].includes(source) ? type : `${type}, ${source}`;
}
