import { isAlive, processIdentity, type ProcessIdentity } from "../core/process-table.ts";
import { portInodes, socketHolders } from "./linux-listener.ts";
import { servingOptions, type ServingOptions } from "./serving-options.ts";

const { readFileSync } = process.getBuiltinModule("node:fs");

/** How the llama-server in production was started, where that can be read. */
export type LiveServing =
  | { ok: true; options: ServingOptions; process: ProcessIdentity; inode: string }
  | { ok: false; reason: string; inode: string | null };

const no = (reason: string, inode: string | null = null): LiveServing => ({
  ok: false,
  reason,
  inode,
});

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

function readProcess(pid: number, inode: string): LiveServing {
  try {
    const args = serverArgs(words(`/proc/${pid}/cmdline`));
    if (args === undefined) {
      return no("what listens there is no llama-server: a container's port, a proxy?", inode);
    }
    const options = servingOptions(args, variables(pid));
    const process = processIdentity(pid);
    return process === undefined ? no("it ended") : { ok: true, options, process, inode };
  } catch {
    return no("its process is not ours to read", inode);
  }
}

function onLinux(port: number, known: LiveServing | undefined): LiveServing {
  const inodes = portInodes(port);
  // The very socket of an earlier look: what listens there is as it was started, or as unreadable.
  const same = known !== undefined && known.inode !== null && inodes.includes(known.inode);
  if (same && (!known.ok || isAlive(known.process))) return known;
  const [inode] = inodes;
  if (inode === undefined) return no("no process here listens on its port");
  const pids = socketHolders(inodes);
  const [pid] = pids;
  if (pid === undefined) return no("its process is another user's", inode);
  if (pids.length > 1) return no(`${pids.length} processes listen there`);
  return readProcess(pid, inode);
}

/**
 * How the llama-server at `url`, on this machine, was started. /props does not tell its KV type, flash
 * attention or batch; its command line and variables do. `known` is an earlier answer.
 */
export function liveServing(url: string, known?: LiveServing): LiveServing {
  if (process.platform !== "linux") {
    return no(`how a server was started is not read on ${process.platform}`);
  }
  const { port } = new URL(url);
  return onLinux(port === "" ? 80 : Number(port), known);
}
