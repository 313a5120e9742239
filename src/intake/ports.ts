import type { Clock } from "../core/clock.ts";
import type { Disk, DiskStat } from "../core/disk.ts";
import type { UlidSource } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { QueueEntry } from "../queue/resident.ts";
import type { Parser } from "./parser.ts";

export interface StoredSubmission {
  id: string;
  file_name: string;
  sha256: string;
  snapshot_path: string | null;
  accepted_at_ms: number;
  detail: JsonValue;
  open_jobs: number;
  ended_at_ms: number | null;
  placed_path: string | null;
}

/** What intake needs of the store of jobs. Each call is one durable transaction. */
interface IntakeStore {
  accept(
    submission: {
      id: string;
      file_name: string;
      sha256: string;
      snapshot_path: string | null;
      accepted_at_ms: number;
      detail: JsonValue;
    },
    jobs: readonly { id: string; index: number; entry: QueueEntry; bundle_dir: string }[],
  ): Promise<{ outcome: "accepted" | "already" | "duplicate"; submission_id: string }>;
  submission(id: string): Promise<StoredSubmission | undefined>;
  submissions(filter: {
    open?: boolean;
    placed?: boolean;
    sha256?: string;
  }): Promise<StoredSubmission[]>;
  jobsOf(submission_id: string): Promise<{ state: string }[]>;
  place(submission_id: string, path: string, now_ms: number): Promise<boolean>;
}

/** Whose files are believed. Both answer what is wrong and the `chmod` that mends it, or null. */
export interface Trust {
  inbox(): string | null;
  file(path: string, stat: DiskStat): string | null;
}

export interface IntakePaths {
  inbox: string;
  /** Where the directories of submissions go; must be there. */
  runs_dir: string;
  /** Must be there; intake makes `intake/` in it. */
  state_dir: string;
}

/** What the steps of intake work with. */
export interface IntakeWorld {
  paths: IntakePaths;
  disk: Disk;
  clock: Clock;
  new_id: UlidSource;
  store: IntakeStore;
  trust: Trust;
  parser: Parser;
  /** A file was found good, and its jobs are on their way into the store. */
  onStoring?: () => void;
}
