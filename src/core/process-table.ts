// Imported, node:fs costs a fifth of Node's own start: it brings streams and more along.
const { readdirSync, readFileSync } = process.getBuiltinModule("node:fs");

/**
 * Only other systems than Linux need a program for this; to load what starts programs costs more than
 * a look at /proc.
 */
function output(file: string, args: readonly string[], env = process.env): string {
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync(file, args, { encoding: "utf8", env });
}

/** The variable that marks every process of a tree, also those that left its process group. */
export const TREE_VARIABLE = "TOUCHSTONED_TREE";

/** A number that no process has. */
export const NO_PROCESS = -1;

/** What tells one process from a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Opaque text that differs between two processes that had the same pid in one boot. */
  start_token: string;
  boot_id: string;
}

interface ProcessRow {
  pid: number;
  ppid: number;
  pgid: number;
  zombie: boolean;
  start_token: string;
}

/** `/proc/PID/stat`: the name in brackets may hold blanks and brackets, so fields start after it. */
function parseLinuxStat(pid: number, text: string): ProcessRow | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, ppid, pgid] = fields;
  const startTicks = fields[19]; // field 22 of the whole line
  if (state === undefined || ppid === undefined || pgid === undefined) return undefined;
  return {
    pid,
    ppid: Number(ppid),
    pgid: Number(pgid),
    zombie: state === "Z" || state === "X",
    start_token: startTicks ?? "",
  };
}

function linuxRow(pid: number): ProcessRow | undefined {
  try {
    return parseLinuxStat(pid, readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined; // it ended while we looked
  }
}

function linuxRows(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const row = linuxRow(Number(name));
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

function psRows(args: readonly string[]): ProcessRow[] {
  const text = output("ps", [...args, "-o", "pid=,ppid=,pgid=,stat=,lstart="], {
    ...process.env,
    LC_ALL: "C",
  });
  const rows: ProcessRow[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
    if (match === null) continue;
    const [, pid, ppid, pgid, stat, started] = match;
    rows.push({
      pid: Number(pid),
      ppid: Number(ppid),
      pgid: Number(pgid),
      zombie: stat?.startsWith("Z") ?? false,
      start_token: started ?? "",
    });
  }
  return rows;
}

const linux = process.platform === "linux";

function allRows(): ProcessRow[] {
  return linux ? linuxRows() : psRows(["-ax"]);
}

/** True where the mark of the tree stands as a word of its own in the process's environment. */
function hasToken(pid: number, token: string): boolean {
  try {
    const environment = linux
      ? readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")
      : output("ps", ["-Eww", "-o", "command=", "-p", String(pid)])
          // ps separates variables by blanks, as the words of our own value are.
          .split(new RegExp(` (?=[A-Za-z_][A-Za-z0-9_]*=)`));
    const mark = environment.find((variable) => variable.startsWith(`${TREE_VARIABLE}=`));
    return (
      mark
        ?.slice(TREE_VARIABLE.length + 1)
        .trim()
        .split(" ")
        .includes(token) ?? false
    );
  } catch {
    return false; // ended, or another user's: not one of ours
  }
}

/** Program and arguments of `pid`; empty where it has ended, and on other systems than Linux. */
export function commandLine(pid: number): string[] {
  if (!linux) return [];
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Program and arguments of `pid` as one text; empty where it has ended. */
export function commandText(pid: number): string {
  if (linux) return commandLine(pid).join(" ").trim();
  try {
    return output("ps", ["-ww", "-o", "command=", "-p", String(pid)]).trim();
  } catch {
    return "";
  }
}

/**
 * The living processes of a tree: its process group, all descendants of its root, and everything
 * that carries the tree's token in its environment (a child that called setsid and lost its parent
 * is found by that alone). Zombies are dead.
 */
export function treeMembers(
  root: { pid: number; start_token: string | undefined },
  token: string,
): number[] {
  const rows = allRows().filter((row) => row.pid !== process.pid && !row.zombie);
  const members = new Set<number>();
  // A number is not given again while its process group lives. Where another process has the
  // root's number by now, the group is gone and its number means nothing: only the token counts.
  const reused = rows.some((row) => row.pid === root.pid && row.start_token !== root.start_token);
  const family = new Set(reused ? [] : [root.pid]);
  // A few rounds reach every depth: each round adds the children of what is known.
  for (let grew = true; grew;) {
    grew = false;
    for (const row of rows) {
      if (!family.has(row.pid) && family.has(row.ppid)) {
        family.add(row.pid);
        grew = true;
      }
    }
  }
  for (const row of rows) {
    const inGroup = !reused && row.pgid === root.pid;
    if (family.has(row.pid) || inGroup || hasToken(row.pid, token)) members.add(row.pid);
  }
  return [...members];
}

let bootId: string | undefined;

/** Tells one run of the kernel from another. */
export function readBootId(): string {
  bootId ??= linux
    ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
    : output("sysctl", ["-n", "kern.bootsessionuuid"]).trim();
  return bootId;
}

/** Who `pid` is, or undefined where no living process has that number. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  const row = linux ? linuxRow(pid) : psRowOf(pid);
  if (row === undefined || row.zombie) return undefined;
  return { pid, start_token: row.start_token, boot_id: readBootId() };
}

function psRowOf(pid: number): ProcessRow | undefined {
  try {
    return psRows(["-p", String(pid)])[0];
  } catch {
    return undefined; // ps exits 1 where there is no such process
  }
}

/** True only where the very process of `identity` still lives: same number, start and boot. */
export function isAlive(identity: ProcessIdentity): boolean {
  const now = processIdentity(identity.pid);
  return (
    now !== undefined &&
    now.boot_id === identity.boot_id &&
    now.start_token === identity.start_token
  );
}
