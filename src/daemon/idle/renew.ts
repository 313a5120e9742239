// Which evidence is to be measured again before it is stale. Pure.
import { requestKey } from "../../evidence/light.ts";

const DAY_MS = 86_400_000;

/** A measurement as far as this needs it. */
export interface Measured {
  runner_kind: string;
  model: string;
  oldest_ms: number;
  created_ms: number;
}

/** What scripts ask for: a runner of machine.yaml with the model that it is measured with. */
export interface Asked {
  runner: string;
  kind: string;
  model: string;
}

export interface RenewLimits {
  max_age_days: number;
  renew_before_days: number;
}

/**
 * When it is to be asked for: so many days before it is stale, but never in the first half of its
 * life, or one measurement would follow the other. Infinity: never.
 */
export function renewAtMs({ oldest_ms }: Measured, limits: RenewLimits): number {
  const { max_age_days, renew_before_days } = limits;
  if (renew_before_days === 0) return Infinity;
  const before_days = Math.min(renew_before_days, max_age_days / 2);
  return oldest_ms + (max_age_days - before_days) * DAY_MS;
}

/**
 * What is to be asked for now: of what scripts ask for, the newest measurement that will soon be
 * stale. One that was superseded is nobody's business any more.
 */
export function toRenew(
  measured: readonly Measured[],
  asked: readonly Asked[],
  limits: RenewLimits & { now_ms: number },
): (Asked & { key: string; stale_ms: number })[] {
  return asked.flatMap((one) => {
    const own = measured.filter(
      ({ runner_kind, model }) => runner_kind === one.kind && model === one.model,
    );
    const newest = own.toSorted((a, b) => b.created_ms - a.created_ms)[0];
    if (newest === undefined || limits.now_ms < renewAtMs(newest, limits)) return [];
    const stale_ms = newest.oldest_ms + limits.max_age_days * DAY_MS;
    return [{ ...one, key: requestKey(one.kind, one.model), stale_ms }];
  });
}
