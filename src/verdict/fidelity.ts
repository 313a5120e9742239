import { shareBounds } from "./beta.ts";
import type { Agreement, Method } from "./records.ts";

/** A corpus with more segments than this gains nothing from them. */
const MOST_SEGMENTS = 1000;

const plans = new Map<string, readonly number[]>();

/**
 * The sequential test that the share of segments that flip is below `share`: entry `f` is the number
 * of segments after which `f` flips pass. Looking after each segment keeps the error below `alpha`:
 * at a share of exactly `share` the sum of all ways to pass is counted out, way by way. With 0.05 and
 * 0.05 the first entry is 59: that many segments without any flip.
 */
export function passPlan(share: number, alpha: number): readonly number[] {
  const key = `${share.toFixed(6)}/${alpha}`;
  const before = plans.get(key);
  if (before !== undefined) return before;
  const plan: number[] = [];
  // waiting[f]: probability of f flips so far without having passed.
  let waiting = [1];
  let spent = 0;
  for (let segments = 1; segments <= MOST_SEGMENTS && plan.length < 12; segments++) {
    const next = Array.from({ length: waiting.length + 1 }, () => 0);
    for (const [flips, chance] of waiting.entries()) {
      next[flips] = (next[flips] ?? 0) + chance * (1 - share);
      next[flips + 1] = (next[flips + 1] ?? 0) + chance * share;
    }
    waiting = next;
    const here = waiting[plan.length] ?? 0;
    if (here > 0 && spent + here <= alpha) {
      spent += here;
      waiting[plan.length] = 0;
      plan.push(segments);
    }
  }
  if (plans.size > 500) plans.clear();
  plans.set(key, plan);
  return plan;
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
  const floor = shareBounds(self.structural_flips, self.segments, 1 - split).low;
  const limit = Math.min(1, method.fidelity_margin + floor);
  const needed = passPlan(limit, split)[level.structural_flips] ?? null;
  if (needed !== null && level.segments >= needed) return { state: "proven", needed, limit };
  const hopeless = needed === null || needed > available;
  const worse = shareBounds(level.structural_flips, level.segments, method.fidelity_confidence).low;
  return {
    state: hopeless && (worse > limit || level.structural_flips > 0) ? "broken" : "not_proven",
    needed,
    limit,
  };
}
