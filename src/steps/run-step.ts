import { join } from "node:path";
import { isoTime, type Clock } from "../core/clock.ts";
import { EXIT } from "../core/errors.ts";
import type { TreeMark } from "../core/process.ts";
import type { StepRecord } from "../queue/index.ts";
import { CappedLog, causeFrom } from "./capped-log.ts";
import { fileSize, JsonLinesTail, ProgressFold, type StepProgress } from "./event-tail.ts";
import type { HeldLock, Rooms, RunningStep } from "./rooms.ts";
import type { StepJob, StepKind } from "./step-job.ts";
import { watch, type WatchResult } from "./watchdog.ts";

export interface RunStepOptions {
  job: StepJob;
  api_key: string | null;
  lock: HeldLock;
  /** Seconds of silence that end it; null for the load, which says nothing while it works. */
  silence_limit_s: number | null;
  signal: AbortSignal;
  onProgress?: (progress: StepProgress) => void;
  onTree?: ((mark: TreeMark) => void) | undefined;
  /** The step runs already: an earlier process of ours had started it. */
  adopted?: AdoptedStep | undefined;
}

/** A step that outlived the process that had started it. */
export interface AdoptedStep {
  kind: StepKind;
  tree: RunningStep["tree"];
  started_ms: number;
  log_path: string;
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
  // How an adopted step ended nobody was told: what it left behind says it.
  const unknown = options.adopted !== undefined && exit?.exit_code === null;
  if (!unknown && exit?.exit_code !== EXIT.done) {
    const code = `exit ${exit?.exit_code ?? "?"}`;
    const error = said.error === null ? code : `${said.error} (${code})`;
    return { status: "failed", error, advice: said.advice };
  }
  const missing = fault();
  if (missing === null) return { status: "ok", error: null, advice: null };
  if (unknown) {
    const error = said.error ?? `${missing}; it ended while no daemon was there to see how`;
    return { status: "failed", error, advice: said.advice };
  }
  return { status: "failed", error: `ended well but ${missing}`, advice: null };
}

/** An adopted step writes to its log by itself; we only read it. */
function adoptedStep({ tree, log_path }: AdoptedStep): RunningStep {
  const log = new CappedLog(log_path);
  return {
    tree,
    log_path,
    output: () => log.whole(),
    trim: () => log.trim(),
    close: () => log.close(),
  };
}

/** Seconds of its limit that an adopted step has left; at least a moment. */
function limitLeft(options: RunStepOptions, clock: Clock): number {
  const { job, adopted } = options;
  if (adopted === undefined) return job.limit_s;
  return Math.max(1, job.limit_s - (clock.now_ms() - adopted.started_ms) / 1000);
}

/** Runs one step's child to its end, whole tree included, and says what came of it. */
export async function runStep(rooms: Rooms, options: RunStepOptions): Promise<StepRecord> {
  const { job, adopted } = options;
  const started_ms = adopted?.started_ms ?? rooms.clock.now_ms();
  const events = eventFile(job);
  const fold = new ProgressFold();
  const tail = new JsonLinesTail(events);
  const { api_key, lock, onTree } = options;
  const step =
    adopted === undefined
      ? rooms.startStep(job, { api_key, lock, ...(onTree === undefined ? {} : { onTree }) })
      : adoptedStep(adopted);
  const result = await watch({
    tree: step.tree,
    hard_limit_s: limitLeft(options, rooms.clock),
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
