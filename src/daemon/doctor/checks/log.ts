import { ok, room, warning, type Line } from "../line.ts";

export interface LogInput {
  files: readonly { path: string; mb: number }[];
}

/** Rotated logs stay far below this. */
const LARGE_MB = 100;

export function logLines({ files }: LogInput): Line[] {
  const sum_mb = files.reduce((sum, { mb }) => sum + mb, 0);
  const [largest] = files.toSorted((a, b) => b.mb - a.mb);
  if (largest === undefined) return [ok("nothing was logged yet")];
  if (sum_mb > LARGE_MB) {
    return [
      warning(
        `the logs have ${room(sum_mb)}, most of it in ${largest.path}`,
        `Something is said again and again: tail ${largest.path}. Then, with the daemon stopped, it may be removed.`,
      ),
    ];
  }
  return [ok(`logs: ${room(sum_mb)} (${largest.path})`)];
}
