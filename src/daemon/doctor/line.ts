/** `warning`: it works, and will not for long, or not as its owner thinks. `failure`: it does not work. */
export type Level = "ok" | "warning" | "failure";

/** One thing that was looked at. */
export interface Line {
  level: Level;
  /** What is so, in one sentence for a person. */
  text: string;
  /** What to do about it; null where nothing is to be done. */
  todo: string | null;
}

export function ok(text: string): Line {
  return { level: "ok", text, todo: null };
}

export function warning(text: string, todo: string): Line {
  return { level: "warning", text, todo };
}

export function failure(text: string, todo: string): Line {
  return { level: "failure", text, todo };
}

/** `1 job`, `2 jobs`. */
export function counted(n: number, one: string, several = `${one}s`): string {
  return `${n} ${n === 1 ? one : several}`;
}

/** `5 s`, `12 min`, `3 h`, `4 days`: as much as a person needs. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** `340 MB`, `2.1 GB`. */
export function room(mb: number): string {
  if (mb < 1) return `${Math.round(mb * 1000)} kB`;
  return mb < 1000 ? `${Math.round(mb)} MB` : `${(mb / 1000).toFixed(1)} GB`;
}
