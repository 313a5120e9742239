import { nearestKey } from "../core/yaml.ts";

/** What ordering needs to know of an entry. */
export interface Ordered {
  index: number;
  id: string | null;
  after: readonly string[];
  /** Lower runs sooner. */
  priority: number;
}

export interface OrderFault {
  index: number;
  /** Position within `after`; null where the whole entry is meant. */
  at: number | null;
  message: string;
  hint: string | null;
}

/** Ids of one cycle, first one repeated at the end (`a -> b -> a`), or undefined. */
function findCycle(entries: readonly Ordered[]): string[] | undefined {
  const byId = new Map(entries.flatMap((entry) => (entry.id === null ? [] : [[entry.id, entry]])));
  const done = new Set<string>();
  for (const start of byId.keys()) {
    // Depth first without recursion: a chain may be as long as the file.
    const path: { id: string; next: number }[] = [{ id: start, next: 0 }];
    while (path.length > 0) {
      const top = path.at(-1);
      if (top === undefined) break;
      const follow = byId.get(top.id)?.after[top.next];
      top.next += 1;
      if (done.has(top.id) || follow === undefined) {
        done.add(top.id);
        path.pop();
        continue;
      }
      const seenAt = path.findIndex((step) => step.id === follow);
      if (seenAt >= 0) return [...path.slice(seenAt).map((step) => step.id), follow];
      if (byId.has(follow) && !done.has(follow)) path.push({ id: follow, next: 0 });
    }
  }
  return undefined;
}

/** Everything that is wrong with the ids and the `after` of one file. */
export function orderFaults(entries: readonly Ordered[]): OrderFault[] {
  const faults: OrderFault[] = [];
  const owner = new Map<string, number>();
  for (const { index, id } of entries) {
    if (id === null) continue;
    const first = owner.get(id);
    if (first === undefined) owner.set(id, index);
    else {
      const message = `id "${id}" is already the id of entry ${first}`;
      faults.push({ index, at: null, message, hint: "Ids are unique within a file." });
    }
  }
  for (const { index, after } of entries) {
    for (const [at, id] of after.entries()) {
      if (owner.has(id)) continue;
      const nearest = nearestKey(id, [...owner.keys()]);
      const hint =
        nearest === undefined
          ? "Only ids of entries in the same file may be named."
          : `Did you mean "${nearest}"?`;
      faults.push({ index, at, message: `no entry of this file has the id "${id}"`, hint });
    }
  }
  const cycle = faults.length === 0 ? findCycle(entries) : undefined;
  if (cycle !== undefined) {
    const index = owner.get(cycle[0] ?? "") ?? 0;
    const message = `these wait for one another: ${cycle.join(" -> ")}`;
    faults.push({ index, at: null, message, hint: "Take one of the `after` away." });
  }
  return faults;
}

/** What became of an entry that others wait for. */
export type DependencyState = "open" | "complete" | "failed";

/**
 * Whether an entry may run now: `ready`, `blocked` while something it waits for is open, or
 * `hopeless` with the ids that ended otherwise than complete.
 */
export function dependencyState(
  entry: Ordered,
  stateOf: (id: string) => DependencyState,
): { state: "ready" | "blocked" } | { state: "hopeless"; ids: string[] } {
  const failed = entry.after.filter((id) => stateOf(id) === "failed");
  if (failed.length > 0) return { state: "hopeless", ids: failed };
  return { state: entry.after.some((id) => stateOf(id) === "open") ? "blocked" : "ready" };
}

/** Lower priority first, then the place in the file. */
export function byPriority(a: Ordered, b: Ordered): number {
  return a.priority - b.priority || a.index - b.index;
}
