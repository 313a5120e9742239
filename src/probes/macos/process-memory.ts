import { descendants } from "../process-family.ts";
import { known, megabytes, unknown, type Reading } from "../reading.ts";

/**
 * Resident memory of `root` and all below it, from `ps -Ao pid=,ppid=,rss=` (kilobytes of 1024).
 * Weights that the GPU holds are not in it on Apple silicon: used memory is the measure there.
 */
export function familyMemory(ps: string, root: number): Reading<number> {
  const parents = new Map<number, number>();
  const resident_kb = new Map<number, number>();
  for (const found of ps.matchAll(/^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/gm)) {
    const pid = Number(found[1]);
    parents.set(pid, Number(found[2]));
    resident_kb.set(pid, Number(found[3]));
  }
  if (parents.size === 0) return unknown("ps printed no process");
  if (!parents.has(root)) return unknown(`process ${root} has ended`);
  const family = [root, ...descendants(root, parents)];
  return known(megabytes(family.reduce((sum, pid) => sum + (resident_kb.get(pid) ?? 0), 0) * 1024));
}
