import { EXIT, usageError } from "../../core/errors.ts";
import { isEnded, JOB_STATES, type JobState } from "../../queue/index.ts";
import type { CommandAction } from "../context.ts";
import { memoryHere, withStore, type StationOptions } from "../queue-store.ts";
import { columns, jobNote } from "../queue-text.ts";

export interface QueueListOptions extends StationOptions {
  all?: boolean;
  state?: string;
  limit?: string;
}

const DEFAULT_LIMIT = 200;

function stateOf(text: string | undefined): JobState | undefined {
  if (text === undefined) return undefined;
  const name = text.toUpperCase().replaceAll(/[ -]/g, "_");
  const state = JOB_STATES.find((one) => one === name);
  if (state === undefined) {
    throw usageError(`--state: there is no state "${text}"`, `States: ${JOB_STATES.join(", ")}`);
  }
  return state;
}

function limitOf(text: string | undefined): number {
  const limit = Number(text ?? DEFAULT_LIMIT);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw usageError(`--limit: "${text ?? ""}" is not a number of jobs`);
}

export const run: CommandAction<QueueListOptions> = async (options, context) =>
  withStore(options, context, async (store, setting) => {
    const { terminal, clock } = context;
    const state = stateOf(options.state);
    const limit = limitOf(options.limit);
    const open: JobState[] = ["PENDING", "CLAIMED", "IN_PROGRESS", "FAILED"];
    const states = state === undefined ? (options.all === true ? JOB_STATES : open) : [state];
    const found = await store.jobs({ states, order: "rank" });
    const jobs =
      options.all === true || state !== undefined ? found : found.filter((job) => !isEnded(job));
    const shown = jobs.slice(0, limit);
    if (options.json === true) {
      terminal.json(shown);
      return EXIT.done;
    }
    if (shown.length === 0) {
      terminal.out(options.all === true ? "no jobs" : "no open jobs (--all shows the others)");
      return EXIT.done;
    }
    const now_ms = clock.now_ms();
    const memory_mb = memoryHere(setting);
    const rows = shown.map((job) => [
      job.id,
      job.state,
      String(job.priority),
      job.entry.model.id,
      job.entry.runner,
      jobNote(job, now_ms, memory_mb),
    ]);
    terminal.out(columns([["job", "state", "priority", "model", "runner", ""], ...rows]));
    const more = jobs.length - shown.length;
    if (more > 0) terminal.err(`${more} more (--limit N)`);
    return EXIT.done;
  });
