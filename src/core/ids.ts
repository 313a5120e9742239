import { monotonicFactory } from "ulid";
import type { Clock } from "./clock.ts";

export type UlidSource = () => string;

/** ULIDs that ascend within this process even when the wall clock does not. */
export function ulidSource(clock: Clock): UlidSource {
  const next = monotonicFactory();
  return () => next(clock.now_ms());
}

/**
 * A name that is safe as one path segment: each run of characters outside `A-Z a-z 0-9 . _ -`
 * becomes one `-`, dashes and dots at the ends go, and nothing longer than 80 characters stays.
 */
export function slug(text: string): string {
  const cleaned = text
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80);
  return cleaned === "" ? "unnamed" : cleaned;
}
