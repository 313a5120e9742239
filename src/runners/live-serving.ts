import { isAlive, processIdentity, type ProcessIdentity } from "../core/process-table.ts";
import { holdsSocket, portInodes, socketHolders } from "./linux-listener.ts";
import { servingOptions, type ServingOptions } from "./serving-options.ts";

const { readFileSync } = process.getBuiltinModule("node:fs");

/** By what it is known again that the same process listens on the same port. */
interface Listener {
  port: number;
  /** Of the socket; null where nobody listens. */
  inode: string | null;
  /** null where it is another user's. */
  process: ProcessIdentity | null;
}

/** How the llama-server in production was started, where that can be read. */
export type LiveServing = Listener &
  ({ ok: true; options: ServingOptions } | { ok: false; reason: string });

function no(
  reason: string,
  port: number,
  { inode = null, process = null }: Partial<Omit<Listener, "port">> = {},
): LiveServing {
  return { ok: false, reason, port, inode, process };
}

function words(path: string): string[] {
  return readFileSync(path, "utf8")
    .split("\0")
    .filter((word) => word !== "");
}

function variables(pid: number): Record<string, string> {
  return Object.fromEntries(
    words(`/proc/${pid}/environ`).map((word) => {
      const at = word.indexOf("=");
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** Arguments of a llama-server, also of one that the dynamic loader was told to start; else undefined. */
function serverArgs(command: readonly string[]): string[] | undefined {
  const loader = /^ld[-.].*\.so|^ld-linux/.test(baseName(command[0] ?? ""));
  const at = loader
    ? command.findIndex((word) => /llama[^/:]*$/i.test(word) && !/\.so|:/.test(word))
    : 0;
  return at >= 0 && /llama/i.test(baseName(command[at] ?? "")) ? command.slice(at + 1) : undefined;
}

function readProcess(pid: number, port: number, inode: string): LiveServing {
  try {
    const process = processIdentity(pid);
    if (process === undefined) return no("it ended", port);
    const args = serverArgs(words(`/proc/${pid}/cmdline`));
    if (args !== undefined) {
      const options = servingOptions(args, variables(pid));
      return { ok: true, options, port, inode, process };
    }
    const reason = "what listens there is no llama-server: a container's port, a proxy?";
    return no(reason, port, { inode, process });
  } catch {
    return no("its process is not ours to read", port, { inode });
  }
}

/**
 * Whether the process of an earlier look still has its socket, which never changes its port. The
 * system's table of connections, which is asked else, takes it milliseconds to write.
 */
function stillListens({ process, inode }: Listener): boolean {
  return (
    process !== null && inode !== null && isAlive(process) && holdsSocket(process.pid, [inode])
  );
}

function onLinux(port: number, before: LiveServing | undefined): LiveServing {
  const known = before?.port === port ? before : undefined;
  if (known !== undefined && stillListens(known)) return known;
  const inodes = portInodes(port);
  const [inode] = inodes;
  if (inode === undefined) return no("no process here listens on its port", port);
  // What was no process of ours to look into is none now.
  if (known?.process === null && known.inode !== null && inodes.includes(known.inode)) return known;
  const pids = socketHolders(inodes);
  const [pid] = pids;
  if (pid === undefined) return no("its process is another user's", port, { inode });
  if (pids.length > 1) return no(`${pids.length} processes listen there`, port);
  return readProcess(pid, port, inode);
}

/**
 * How the llama-server at `url`, on this machine, was started. /props does not tell its KV type, flash
 * attention or batch; its command line and variables do. `known` is an earlier answer.
 */
export function liveServing(url: string, known?: LiveServing): LiveServing {
  const named = new URL(url).port;
  const port = named === "" ? 80 : Number(named);
  if (process.platform !== "linux") {
    return no(`how a server was started is not read on ${process.platform}`, port);
  }
  return onLinux(port, known);
}
