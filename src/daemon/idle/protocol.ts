/**
 * What a calibration tells the daemon that started it, a line of JSON each on its standard output. The
 * daemon's side is a pipe: the line `give way` asks it to end after its step, the pipe's end at once.
 */
export type ChildLine =
  | { event: "note"; text: string }
  | ({ event: "progress" } & ChildProgress)
  | ChildEnd;

export interface ChildProgress {
  message: string;
  steps_done: number;
  steps_about: number;
  /** Seconds that are left; null as long as that cannot be told. */
  low_s: number | null;
  high_s: number | null;
}

/** The last line. */
export type ChildEnd =
  | { event: "measured"; recommended: number; max_safe: number; commit_waits: string | null }
  | { event: "gave_way" }
  | { event: "time_over" }
  | { event: "not_requested" }
  | { event: "came_to_nothing"; why: string }
  | { event: "refused"; code: string; exit_code: number; why: string };

export const GIVE_WAY_LINE = "give way";

/** What housekeeping did; its one line. */
export interface HousekeepReport {
  committed: number;
  /** What still waits for git, and why. */
  waiting: number;
  reason: string | null;
  /** Requests that were made because evidence is about to be stale. */
  asked: string[];
  /** Evidence and requests in the state, and files of the work tree, that are of no more use. */
  pruned: number;
}
