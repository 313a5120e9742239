/** All below `root`, by a table of parents. */
export function descendants(root: number, parents: ReadonlyMap<number, number>): Set<number> {
  const family = new Set<number>();
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid, parent] of parents) {
      if (pid === root || family.has(pid)) continue;
      if (parent !== root && !family.has(parent)) continue;
      family.add(pid);
      grew = true;
    }
  }
  return family;
}
