// Which process of this machine listens on a port, from /proc alone.

// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { readdirSync, readFileSync, readlinkSync } = process.getBuiltinModule("node:fs");

const LISTENING = "0A";

/**
 * Inodes of the sockets that listen on `port`, from the text of `/proc/net/tcp` or `tcp6`. The local
 * address is `ADDRESS:PORT` in hex.
 */
export function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      const inode = fields[9];
      const listens = fields[1]?.endsWith(suffix) === true && fields[3] === LISTENING;
      return listens && inode !== undefined && inode !== "0" ? [inode] : [];
    });
}

function readTable(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // no IPv6 here
  }
}

/** Inodes of all sockets that listen on `port`; a socket keeps its own as long as it lives. */
export function portInodes(port: number): string[] {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readTable(path));
  return tables.flatMap((table) => listeningInodes(table, port));
}

/** Whether the process holds one of these sockets; false where it is not ours to look into. */
export function holdsSocket(pid: number, inodes: readonly string[]): boolean {
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return false; // ended, or another user's
  }
  return names.some((name) => {
    try {
      return links.has(readlinkSync(`/proc/${pid}/fd/${name}`));
    } catch {
      return false; // closed while we looked
    }
  });
}

/** Processes that hold one of these sockets, as far as they are ours to look into. */
export function socketHolders(inodes: readonly string[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => holdsSocket(pid, inodes));
}
