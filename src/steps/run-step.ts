import { join } from "node:path";
import { isoTime } from "../core/clock.ts";
import { EXIT } from "../core/errors.ts";
import type { StepRecord } from "../queue/index.ts";
import { causeFrom } from "./capped-log.ts";
import { fileSize, JsonLinesTail, ProgressFold, type StepProgress } from "./event-tail.ts";
import type { HeldLock, Rooms } from "./rooms.ts";
import type { StepJob } from "./step-job.ts";
import { watch, type WatchResult } from "./watchdog.ts";

export interface RunStepOptions {
  job: StepJob;
  api_key: string | null;
  lock: HeldLock;
  /** Seconds of silence that end it; null for the load, which says nothing while it works. */
  silence_limit_s: number | null;
  signal: AbortSignal;
  onProgress?: (progress: StepProgress) => void;
}

function eventFile(job: StepJob): string {
  return join(job.bundle_dir, job.kind === "judge" ? "judge_events.jsonl" : "events.jsonl");
}

type Verdict = Pick<StepRecord, "status" | "error" | "advice">;

function verdictOf(
  result: WatchResult,
  options: RunStepOptions,
  output: string,
  fault: () => string | null,
): Verdict {
  const { job } = options;
  const said = causeFrom(output);
  if (result.end === "interrupted") {
    return { status: "interrupted", error: "stopped by the user", advice: null };
  }
  if (result.end === "timeout") {
    const advice = `Raise step_timeout_s.${job.kind} if it needs longer.`;
    return { status: "timeout", error: `no end within ${job.limit_s} s`, advice };
  }
  if (result.end === "stalled") {
    const error = `no sign of life for ${options.silence_limit_s ?? 0} s`;
    const advice = `See whether the runner hangs; raise idle_timeout_s.${job.kind} if it is slow.`;
    return { status: "stalled", error, advice };
  }
  const exit = result.exit;
  if (exit?.spawn_error != null) {
    return { status: "failed", error: `could not be started: ${exit.spawn_error}`, advice: null };
  }
  if (exit?.signal != null) {
    const advice = "Somebody or the kernel (out of memory?) ended it; see the system's log.";
    return { status: "failed", error: `the step was killed by ${exit.signal}`, advice };
  }
  if (exit?.exit_code === EXIT.unavailable) {
    return {
      status: "failed",
      error: `endpoint dead: ${said.error ?? "the runner does not answer"}`,
      advice: said.advice ?? `Start the runner "${job.runner.name}" (${job.runner.url}).`,
    };
  }
  if (exit?.exit_code !== EXIT.done) {
    const code = `exit ${exit?.exit_code ?? "?"}`;
    const error = said.error === null ? code : `${said.error} (${code})`;
    return { status: "failed", error, advice: said.advice };
  }
  const missing = fault();
  if (missing === null) return { status: "ok", error: null, advice: null };
  return { status: "failed", error: `ended well but ${missing}`, advice: null };
}

/** Runs one step's child to its end, whole tree included, and says what came of it. */
export async function runStep(rooms: Rooms, options: RunStepOptions): Promise<StepRecord> {
  const { job } = options;
  const started_ms = rooms.clock.now_ms();
  const events = eventFile(job);
  const fold = new ProgressFold();
  const tail = new JsonLinesTail(events);
  const step = rooms.startStep(job, { api_key: options.api_key, lock: options.lock });
  const result = await watch({
    tree: step.tree,
    hard_limit_s: job.limit_s,
    silence_limit_s: options.silence_limit_s,
    life: () => fileSize(events),
    clock: rooms.clock,
    signal: options.signal,
    onLook() {
      step.trim();
      for (const row of tail.read()) fold.add(row);
      options.onProgress?.(fold.progress());
    },
  });
  const output = step.output();
  step.close();
  const verdict = verdictOf(result, options, output, () =>
    rooms.stepFault(job.kind, job.bundle_dir, started_ms),
  );
  return {
    kind: job.kind,
    ...verdict,
    started: isoTime(started_ms),
    seconds: Math.round(result.running_s * 10) / 10,
    exit_code: result.exit?.exit_code ?? null,
    signal: result.exit?.signal ?? null,
    survivors: result.survivors,
    gaps: result.gaps,
    log: step.log_path,
  };
}
