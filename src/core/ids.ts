import { monotonicFactory } from "ulid";
import type { Clock } from "./clock.ts";

export type UlidSource = () => string;

/** ULIDs that ascend within this process even when the wall clock does not. */
export function ulidSource(clock: Clock): UlidSource {
  const next = monotonicFactory();
  return () => next(clock.now_ms());
}
