import { TouchstonedError } from "../../src/core/errors.ts";
import type { JsonValue } from "../../src/core/json.ts";
import {
  dueAtMs,
  fenceFault,
  isClaimable,
  isEnded,
  isWaiting,
  transition,
  type Job,
  type JobEvent,
  type JobFailure,
  type JobState,
} from "../../src/queue/index.ts";
import { firstEvent, firstJobs, idReused } from "../../src/store/new-job.ts";
import {
  OWNER_SILENCE_MS,
  QUEUE,
  type Able,
  type AcceptReport,
  type Blocked,
  type HoldOutcome,
  type JobFilter,
  type JobHistory,
  type JobOutcome,
  type NewJob,
  type NewSubmission,
  type Owner,
  type OwnerOutcome,
  type OwnerVerdict,
  type ReapReport,
  type RecordedStep,
  type RegisteredOwner,
  type StepEntry,
  type Store,
  type Submission,
  type SubmissionFilter,
  type Violation,
} from "../../src/store/index.ts";
import {
  blockedJobs,
  byId,
  byRank,
  canRun,
  checkDisk,
  countJobs,
  emptyDisk,
  filterJobs,
  filterSubmissions,
  type MemoryDisk,
} from "./memory-disk.ts";

export interface MemoryStoreOptions {
  /** Give a second store the same one: two processes on one file, or one after its crash. */
  disk?: MemoryDisk;
  /**
   * Called around each writing method. What it throws before comes instead of the change; what it
   * throws after comes although the change was made, as when a process dies at that moment.
   */
  fault?: (method: string, when: "before" | "after") => void;
}

function copyOf<T>(value: T): T {
  return structuredClone(value);
}

function notFound(id: string): JobOutcome & HoldOutcome {
  return { ok: false, code: "not_found", reason: `there is no job ${id}` };
}

function ownerUnknown(id: string): OwnerOutcome & { ok: false } {
  return { ok: false, code: "owner_unknown", reason: `${id} is not registered` };
}

/** The store in memory, by the same rule book. Passes the same conformance suite as the real one. */
export class MemoryStore implements Store {
  readonly disk: MemoryDisk;
  readonly #fault: NonNullable<MemoryStoreOptions["fault"]>;

  constructor(options: MemoryStoreOptions = {}) {
    this.disk = options.disk ?? emptyDisk();
    this.#fault = options.fault ?? (() => {});
  }

  #write<T>(method: string, work: () => T): T {
    this.#fault(method, "before");
    const result = copyOf(work());
    this.#fault(method, "after");
    return result;
  }

  #all(): Job[] {
    return [...this.disk.jobs.values()].sort(byId);
  }

  #note(before: Job | null, after: Job, kind: string, reason: string | null, at_ms: number): void {
    const owner = after.owner ?? before?.owner ?? null;
    const from = before?.state ?? null;
    const entry = { at_ms, kind, from, to: after.state, fence: after.fence, owner, reason };
    this.disk.history.set(after.id, [...(this.disk.history.get(after.id) ?? []), entry]);
  }

  #apply(id: string, event: JobEvent, now_ms: number): JobOutcome {
    const before = this.disk.jobs.get(id);
    if (before === undefined) return notFound(id);
    const result = transition(before, event, now_ms);
    if (!result.ok) return result;
    const { job } = result;
    if (!result.changed) return { ok: true, job };
    this.disk.jobs.set(id, job);
    let reason = "reason" in event ? event.reason : null;
    if (event.kind === "fail") reason = `${event.failure.kind}: ${event.failure.message}`;
    this.#note(before, job, event.kind, reason, now_ms);
    if (isEnded(job) && job.state !== "COMPLETE") this.disk.untold.add(id);
    else this.disk.untold.delete(id);
    if (job.state === "COMPLETE" && before.state !== "COMPLETE") {
      for (const waiting of this.#all().filter(({ after }) => after.includes(id))) {
        this.disk.jobs.set(waiting.id, { ...waiting, waiting_on: waiting.waiting_on - 1 });
      }
    }
    this.#countOpen(job.submission_id, now_ms);
    return { ok: true, job };
  }

  #countOpen(id: string, now_ms: number): void {
    const submission = this.disk.submissions.get(id);
    if (submission === undefined) return;
    const open = this.#all().filter((job) => job.submission_id === id && !isEnded(job)).length;
    if (open === submission.open_jobs) return;
    const ended_at_ms = open > 0 ? null : now_ms;
    this.disk.submissions.set(id, { ...submission, open_jobs: open, ended_at_ms });
  }

  async accept(submission: NewSubmission, given: readonly NewJob[]): Promise<AcceptReport> {
    const jobs = firstJobs(submission, given);
    return this.#write("accept", () => {
      const { id, sha256 } = submission;
      const same = this.disk.submissions.get(id);
      if (same !== undefined) {
        if (same.sha256 !== sha256) throw idReused(`submission id ${id}`);
        return { outcome: "already", submission_id: id };
      }
      const open = [...this.disk.submissions.values()]
        .sort(byId)
        .find((one) => one.sha256 === sha256 && one.open_jobs > 0);
      const ended = jobs.every((job) => isEnded(job));
      if (open !== undefined && !ended) return { outcome: "duplicate", submission_id: open.id };
      const ids = jobs.map((job) => job.id);
      const known = ids.find((one, at) => this.disk.jobs.has(one) || ids.indexOf(one) !== at);
      if (known !== undefined) throw idReused(`job id ${known}`);
      const open_jobs = jobs.filter((job) => !isEnded(job)).length;
      const ends = Math.max(...jobs.map((job) => job.ended_at_ms ?? 0));
      const ended_at_ms = open_jobs > 0 ? null : ends;
      const placed = { placed_path: null, placed_at_ms: null };
      const total_jobs = jobs.length;
      const row = { ...submission, total_jobs, open_jobs, ended_at_ms, ...placed };
      this.disk.submissions.set(id, copyOf(row));
      for (const job of jobs) {
        this.disk.jobs.set(job.id, copyOf(job));
        const [kind, reason] = firstEvent(job);
        this.#note(null, job, kind, reason, submission.accepted_at_ms);
      }
      return { outcome: "accepted", submission_id: id };
    });
  }

  async submissions(filter: SubmissionFilter = {}): Promise<Submission[]> {
    return copyOf(filterSubmissions([...this.disk.submissions.values()], filter));
  }

  async submission(id: string): Promise<Submission | undefined> {
    return copyOf(this.disk.submissions.get(id));
  }

  async place(id: string, placed_path: string, placed_at_ms: number): Promise<boolean> {
    return this.#write("place", () => {
      const submission = this.disk.submissions.get(id);
      if (submission === undefined) return false;
      this.disk.submissions.set(id, { ...submission, placed_path, placed_at_ms });
      return true;
    });
  }

  async jobs(filter: JobFilter = {}): Promise<Job[]> {
    return copyOf(filterJobs(this.#all(), filter));
  }

  async job(id: string): Promise<Job | undefined> {
    return copyOf(this.disk.jobs.get(id));
  }

  async jobsOf(submission_id: string): Promise<Job[]> {
    return (await this.jobs({ submission_id })).sort((a, b) => a.index - b.index);
  }

  async history(id: string): Promise<JobHistory[]> {
    return copyOf(this.disk.history.get(id) ?? []);
  }

  async steps(id: string): Promise<RecordedStep[]> {
    return copyOf(this.disk.steps.get(id) ?? []);
  }

  #requireOwner(id: string): void {
    if (this.disk.owners.has(id)) return;
    const message = `${id} is not registered`;
    throw new TouchstonedError({ code: "owner_unknown", exitCode: 75, message });
  }

  async claim(owner: string, now_ms: number, can: Able): Promise<Job | undefined> {
    return this.#write("claim", () => {
      this.#requireOwner(owner);
      if (this.disk.queue_held_at_ms !== null) return undefined;
      const first = this.#all()
        .filter((job) => isClaimable(job) && dueAtMs(job) <= now_ms)
        .filter((job) => canRun(job, can))
        .sort(byRank)[0];
      if (first === undefined) return undefined;
      const outcome = this.#apply(first.id, { kind: "claim", owner }, now_ms);
      return outcome.ok ? outcome.job : undefined;
    });
  }

  #event(id: string, event: JobEvent, now_ms: number): JobOutcome {
    return this.#write(event.kind, () => this.#apply(id, event, now_ms));
  }

  async start(id: string, fence: number, now_ms: number): Promise<JobOutcome> {
    return this.#event(id, { kind: "start", fence }, now_ms);
  }

  async step(id: string, fence: number, at_ms: number, step: StepEntry): Promise<JobOutcome> {
    return this.#write("step", () => {
      const job = this.disk.jobs.get(id);
      if (job === undefined) return notFound(id);
      const fault = fenceFault(job, fence);
      if (fault !== undefined) return fault;
      const recorded = copyOf({ ...step, fence, at_ms });
      this.disk.steps.set(id, [...(this.disk.steps.get(id) ?? []), recorded]);
      return { ok: true, job };
    });
  }

  async complete(id: string, fence: number, now_ms: number, result: JsonValue) {
    return this.#event(id, { kind: "complete", fence, result: copyOf(result) }, now_ms);
  }

  async fail(id: string, fence: number, now_ms: number, failure: JobFailure) {
    return this.#event(id, { kind: "fail", fence, failure }, now_ms);
  }

  async interrupt(id: string, fence: number, now_ms: number, why: string) {
    return this.#event(id, { kind: "interrupt", fence, reason: why }, now_ms);
  }

  async adopt(id: string, fence: number, owner: string, now_ms: number): Promise<JobOutcome> {
    this.#requireOwner(owner);
    return this.#event(id, { kind: "adopt", fence, owner }, now_ms);
  }

  async cancel(id: string, now_ms: number): Promise<JobOutcome> {
    return this.#event(id, { kind: "cancel" }, now_ms);
  }

  async retry(id: string, now_ms: number): Promise<JobOutcome> {
    return this.#write("retry", () => {
      const job = this.disk.jobs.get(id);
      const ended = (job?.after ?? [])
        .map((needs) => this.disk.jobs.get(needs))
        .find((needs) => needs !== undefined && isEnded(needs) && needs.state !== "COMPLETE");
      if (job?.state === "FAILED" && ended !== undefined) {
        const reason = `job ${id} waits for ${ended.id}, which ended ${ended.state}`;
        return { ok: false, code: "prerequisite_ended", reason };
      }
      return this.#apply(id, { kind: "retry" }, now_ms);
    });
  }

  async hold(target: string, now_ms: number): Promise<HoldOutcome> {
    if (target !== QUEUE) return this.#event(target, { kind: "hold" }, now_ms);
    return this.#write("hold", () => {
      this.disk.queue_held_at_ms ??= now_ms;
      return { ok: true };
    });
  }

  async release(target: string, now_ms: number): Promise<HoldOutcome> {
    if (target !== QUEUE) return this.#event(target, { kind: "release" }, now_ms);
    return this.#write("release", () => {
      this.disk.queue_held_at_ms = null;
      return { ok: true };
    });
  }

  async failDependants(now_ms: number): Promise<string[]> {
    return this.#write("failDependants", () => {
      const failed: string[] = [];
      for (;;) {
        const id = [...this.disk.untold].sort()[0];
        if (id === undefined) return failed;
        const ended = this.disk.jobs.get(id);
        const reason = `waited for ${id}, which ended ${ended?.state}`;
        for (const job of this.#all().filter((one) => one.after.includes(id) && isWaiting(one))) {
          if (this.#apply(job.id, { kind: "prerequisite_failed", reason }, now_ms).ok) {
            failed.push(job.id);
          }
        }
        this.disk.untold.delete(id);
      }
    });
  }

  async register(owner: Owner, now_ms: number): Promise<OwnerOutcome> {
    return this.#write("register", () => {
      const there = this.disk.owners.get(owner.id);
      const { id, host, pid, start_token, boot_id } = owner;
      if (there === undefined) {
        const row = { id, host, pid, start_token, boot_id };
        this.disk.owners.set(id, { ...row, registered_at_ms: now_ms, beat_at_ms: now_ms });
        return { ok: true };
      }
      const known = [there.host, there.pid, there.start_token, there.boot_id];
      if (JSON.stringify(known) !== JSON.stringify([host, pid, start_token, boot_id])) {
        return { ok: false, code: "owner_taken", reason: `${id} is registered by ${there.pid}` };
      }
      this.disk.owners.set(id, { ...there, beat_at_ms: now_ms });
      return { ok: true };
    });
  }

  async beat(id: string, beat_at_ms: number): Promise<OwnerOutcome> {
    return this.#write("beat", () => {
      const there = this.disk.owners.get(id);
      if (there === undefined) return ownerUnknown(id);
      this.disk.owners.set(id, { ...there, beat_at_ms });
      return { ok: true };
    });
  }

  async deregister(id: string): Promise<OwnerOutcome> {
    return this.#write("deregister", () => {
      const job = this.#all().find(({ owner }) => owner === id);
      if (job !== undefined) {
        return { ok: false, code: "owner_busy", reason: `${id} still has job ${job.id}` };
      }
      return this.disk.owners.delete(id) ? { ok: true } : ownerUnknown(id);
    });
  }

  async owners(): Promise<RegisteredOwner[]> {
    return copyOf([...this.disk.owners.values()].sort(byId));
  }

  async reap(now_ms: number, proof: (owner: RegisteredOwner) => OwnerVerdict): Promise<ReapReport> {
    return this.#write("reap", () => {
      const report: ReapReport = { owners: [], interrupted: [], failed: [] };
      for (const owner of [...this.disk.owners.values()].sort(byId)) {
        const verdict = proof(copyOf(owner));
        const silent = now_ms - owner.beat_at_ms > OWNER_SILENCE_MS;
        if (verdict === "alive" || (verdict === "unknown" && !silent)) continue;
        for (const { id } of this.#all().filter((job) => job.owner === owner.id)) {
          const event = { kind: "owner_died", reason: `${owner.id} is gone` } as const;
          const outcome = this.#apply(id, event, now_ms);
          const failed = outcome.ok && outcome.job.state === "FAILED";
          (failed ? report.failed : report.interrupted).push(id);
        }
        this.disk.owners.delete(owner.id);
        report.owners.push(owner.id);
      }
      return report;
    });
  }

  async nextDue(now_ms: number, can: Able): Promise<number | null> {
    if (this.disk.queue_held_at_ms !== null) return null;
    const due = this.#all()
      .filter((job) => isClaimable(job) && canRun(job, can))
      .map((job) => Math.max(dueAtMs(job), now_ms));
    return due.length === 0 ? null : Math.min(...due);
  }

  async counts(): Promise<Record<JobState, number>> {
    return countJobs(this.#all());
  }

  async blocked(now_ms: number, can: Able): Promise<Blocked> {
    return {
      ...blockedJobs(this.#all(), now_ms, can),
      queue_held_at_ms: this.disk.queue_held_at_ms,
    };
  }

  async check(): Promise<Violation[]> {
    return checkDisk(this.disk);
  }

  async close(): Promise<void> {}
}
