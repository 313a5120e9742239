import { readFileSync } from "node:fs";

/** Numbers of the processes that a process has started; none where it is gone. */
export function childrenOf(pid: number): number[] {
  return text(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
}

/** What a process is called; empty where it is gone. */
export function commandName(pid: number): string {
  return text(`/proc/${pid}/comm`).trim();
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
