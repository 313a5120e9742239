import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { runCommand } from "../core/process.ts";

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

function holdsSocket(pid: string, links: ReadonlySet<string>): boolean {
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

/** A container's published port is held by a helper that holds no weights. */
function isForwarder(pid: number): boolean {
  try {
    return /proxy|slirp|pasta|^ssh/.test(readFileSync(`/proc/${pid}/comm`, "utf8"));
  } catch {
    return true;
  }
}

function linuxListener(port: number): number | null {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readTable(path));
  const inodes = tables.flatMap((table) => listeningInodes(table, port));
  if (inodes.length === 0) return null;
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && holdsSocket(name, links))
    .map(Number);
  // Children that inherited the socket make it ambiguous, and a guess would measure the wrong one.
  const [pid] = pids;
  return pid === undefined || pids.length > 1 || isForwarder(pid) ? null : pid;
}

async function lsofListener(port: number): Promise<number | null> {
  const found = await runCommand("lsof", ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-t"], {
    timeout_s: 5,
  });
  const pids = [...new Set(found.stdout.split("\n").filter((line) => /^\d+$/.test(line)))];
  return found.ok && pids.length === 1 ? Number(pids[0]) : null;
}

/** True where `hostname` names this machine, by its loopback or one of its own addresses. */
export function isThisMachine(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (host === "localhost" || host === "::1" || host.startsWith("127.")) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some(({ address }) => address === host);
}

/** The one process that listens where `url` points; null for other machines and where unsure. */
export async function listenerPid(url: string): Promise<number | null> {
  const { hostname, port, protocol } = new URL(url);
  if (!isThisMachine(hostname)) return null;
  const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
  return process.platform === "linux" ? linuxListener(number) : lsofListener(number);
}
