import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { runCommand } from "../core/process.ts";
import { portInodes, socketHolders } from "./linux-listener.ts";

/** A container's published port is held by a helper that holds no weights. */
function isForwarder(pid: number): boolean {
  try {
    return /proxy|slirp|pasta|^ssh/.test(readFileSync(`/proc/${pid}/comm`, "utf8"));
  } catch {
    return true;
  }
}

function linuxListener(port: number): number | null {
  const inodes = portInodes(port);
  if (inodes.length === 0) return null;
  const pids = socketHolders(inodes);
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
