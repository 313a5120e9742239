import { shareLow } from "./beta.ts";
import type { Agreement, Method } from "./records.ts";

/** A corpus with more segments than this gains nothing from them. */
const MOST_SEGMENTS = 1000;
/** More flips than this are not made up for by any corpus. */
const MOST_FLIPS = 60;

const known = new Map<string, number | null>();

/**
 * The sequential test that the share of segments that flip is below `share`: the number of segments
 * after which `flips` flips pass, null for never. Looking after each segment keeps the error below
 * `alpha`: at a share of exactly `share` all ways to pass, those with fewer flips first, are counted
 * out and together stay below it. With 0.05 and 0.05 no flip at all passes after 59 segments.
 */
export function segmentsToPass(flips: number, share: number, alpha: number): number | null {
  const key = `${flips}/${share}/${alpha}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const needed = flips > MOST_FLIPS ? null : countOut(flips, share, alpha);
  if (known.size > 1000) known.clear();
  known.set(key, needed);
  return needed;
}

function countOut(flips: number, share: number, alpha: number): number | null {
  // waiting[f]: probability of f flips so far without having passed.
  let waiting = [1];
  let spent = 0;
  let passing = 0;
  for (let segments = 1; segments <= MOST_SEGMENTS; segments++) {
    const next = Array.from({ length: Math.min(waiting.length, flips) + 1 }, () => 0);
    for (const at of next.keys()) {
      next[at] = (waiting[at] ?? 0) * (1 - share) + (waiting[at - 1] ?? 0) * share;
    }
    waiting = next;
    const here = waiting[passing] ?? 0;
    if (here > 0 && spent + here <= alpha) {
      if (passing === flips) return segments;
      spent += here;
      waiting[passing] = 0;
      passing += 1;
    }
  }
  return null;
}

export interface FidelityJudgement {
  state: "proven" | "not_proven" | "broken";
  /** Segments that must be compared in all before this may pass, with as many flips as now; null = never. */
  needed: number | null;
  /** Share of segments that may flip. */
  limit: number;
}

/**
 * Non-inferiority, clustered by segment: a segment with any turn that differs counts once. One slot in
 * another order flips a share of its own; of that only its exact lower bound is granted, and the
 * error is then split between the two shares.
 */
export function judgeFidelity(
  level: Agreement,
  self: Agreement,
  method: Pick<Method, "fidelity_margin" | "fidelity_confidence">,
  available = MOST_SEGMENTS,
): FidelityJudgement {
  const alpha = 1 - method.fidelity_confidence;
  const split = self.structural_flips > 0 ? alpha / 2 : alpha;
  const floor = shareLow(self.structural_flips, self.segments, 1 - split);
  const limit = Math.min(1, method.fidelity_margin + floor);
  const needed = segmentsToPass(level.structural_flips, limit, split);
  if (needed !== null && level.segments >= needed) return { state: "proven", needed, limit };
  const hopeless = needed === null || needed > available;
  return {
    state: hopeless && level.structural_flips > 0 ? "broken" : "not_proven",
    needed,
    limit,
  };
}
