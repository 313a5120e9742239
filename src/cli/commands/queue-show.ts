import { isoTime } from "../../core/clock.ts";
import { EXIT } from "../../core/errors.ts";
import type { CommandAction } from "../context.ts";
import { findJob, memoryHere, withStore, type StationOptions } from "../queue-store.ts";
import { columns, jobNote } from "../queue-text.ts";

export interface QueueShowOptions extends StationOptions {
  id: string;
}

export const run: CommandAction<QueueShowOptions> = async (options, context) =>
  withStore(options, context, async (store, setting) => {
    const { terminal, clock } = context;
    const job = await findJob(store, options.id);
    const [submission, history, steps] = [
      await store.submission(job.submission_id),
      await store.history(job.id),
      await store.steps(job.id),
    ];
    if (options.json === true) {
      terminal.json({ job, submission, history, steps });
      return EXIT.done;
    }
    const note = jobNote(job, clock.now_ms(), memoryHere(setting));
    const { memory_mb } = job.entry;
    terminal.out(
      columns([
        ["job", job.id],
        ["state", note === "" ? job.state : `${job.state} ${note}`],
        ["model", job.entry.model.id],
        ["runner", job.entry.runner],
        ...(memory_mb == null ? [] : [["memory", `${memory_mb} MB`]]),
        ["priority", String(job.priority)],
        ["attempts", `${job.attempt_count} of ${job.max_attempts} failed`],
        ["file", `${submission?.file_name ?? "?"}, entry ${job.index + 1}`],
        ["submission", job.submission_id],
        ["bundle", job.bundle_dir],
      ]),
    );
    terminal.out("");
    const rows = history.map(({ at_ms, kind, to, owner, reason }) => [
      isoTime(at_ms),
      kind,
      to,
      owner ?? "",
      reason ?? "",
    ]);
    terminal.out(columns([["at", "what", "then", "by", "why"], ...rows]));
    return EXIT.done;
  });
