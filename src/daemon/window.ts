// Patterns of cron, by the local clock. The library is loaded where a pattern is set, and not before.

const MINUTE_MS = 60_000;

export interface Window {
  /** Whether this minute is one of the pattern's. */
  open: boolean;
  /** The first minute after this one that is; null where there is none any more. */
  next_ms: number | null;
}

/** No pattern: always open. */
export async function windowAt(pattern: string | undefined, now_ms: number): Promise<Window> {
  if (pattern === undefined) return { open: true, next_ms: now_ms };
  const { Cron } = await import("croner");
  const cron = new Cron(pattern, { paused: true });
  const minute = new Date(Math.floor(now_ms / MINUTE_MS) * MINUTE_MS);
  return { open: cron.match(minute), next_ms: cron.nextRun(minute)?.getTime() ?? null };
}
