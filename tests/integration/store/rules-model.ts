import type { Able, OwnerVerdict } from "../../../src/store/index.ts";

/**
 * The rules of jobs as the contract says them, as simple as can be: lists that are searched from end
 * to end, nothing derived, nothing kept twice. Shares no code with the stores.
 */
export interface ModelJob {
  id: string;
  submission: string;
  runner: string;
  state: "PENDING" | "CLAIMED" | "IN_PROGRESS" | "COMPLETE" | "FAILED" | "CANCELLED";
  created_ms: number;
  first_priority: number;
  priority: number;
  not_before_ms: number | null;
  max_attempts: number;
  after: string[];
  attempts: number;
  timeouts: number;
  deaths: number;
  /** Null while FAILED = for good. */
  retry_after_ms: number | null;
  fence: number;
  owner: string | null;
  held: boolean;
  /** It ended otherwise than COMPLETE and those that wait for it were not told yet. */
  news: boolean;
}

interface ModelOwner {
  id: string;
  pid: number;
  beat_ms: number;
}

function rank(job: ModelJob): number {
  return Math.floor(job.created_ms / 1000) + 360 * job.priority;
}

export class RulesModel {
  jobs: ModelJob[] = [];
  owners: ModelOwner[] = [];
  submissions: { id: string; sha256: string }[] = [];
  queue_held = false;

  find(id: string): ModelJob {
    const job = this.jobs.find((one) => one.id === id);
    if (job === undefined) throw new Error(`the model has no job ${id}`);
    return job;
  }

  ended(job: ModelJob): boolean {
    if (job.state === "FAILED") return job.retry_after_ms === null;
    return job.state === "COMPLETE" || job.state === "CANCELLED";
  }

  open(submission: string): number {
    return this.jobs.filter((job) => job.submission === submission && !this.ended(job)).length;
  }

  accept(id: string, sha256: string, jobs: ModelJob[]): "accepted" | "already" | "duplicate" {
    if (this.submissions.some((one) => one.id === id)) return "already";
    const same = this.submissions.filter((one) => one.sha256 === sha256);
    if (same.some((one) => this.open(one.id) > 0)) return "duplicate";
    this.submissions.push({ id, sha256 });
    this.jobs.push(...jobs);
    return "accepted";
  }

  /** Jobs that only time may still keep from being claimed, with the time from which it does not. */
  #candidates(can: Able): { job: ModelJob; from_ms: number }[] {
    if (this.queue_held) return [];
    return this.jobs
      .filter((job) => job.state === "PENDING" || (job.state === "FAILED" && !this.ended(job)))
      .filter((job) => !job.held && can.runners.includes(job.runner))
      .filter((job) => job.after.every((id) => this.find(id).state === "COMPLETE"))
      .map((job) => {
        const retry = job.state === "FAILED" ? (job.retry_after_ms ?? 0) : 0;
        return { job, from_ms: Math.max(job.not_before_ms ?? 0, retry) };
      });
  }

  nextDue(now: number, can: Able): number | null {
    const times = this.#candidates(can).map(({ from_ms }) => Math.max(from_ms, now));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Undefined = nobody of that name is registered; null = nothing to do. */
  claim(owner: string, now: number, can: Able): string | null | undefined {
    if (!this.owners.some(({ id }) => id === owner)) return undefined;
    const [first] = this.#candidates(can)
      .filter(({ from_ms }) => from_ms <= now)
      .map(({ job }) => job)
      .sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
    if (first === undefined) return null;
    Object.assign(first, { state: "CLAIMED", owner, fence: first.fence + 1 });
    return first.id;
  }

  #runs(job: ModelJob): boolean {
    return job.state === "CLAIMED" || job.state === "IN_PROGRESS";
  }

  mayWrite(id: string, fence: number): boolean {
    const job = this.find(id);
    return this.#runs(job) && job.fence === fence;
  }

  start(id: string, fence: number): boolean {
    const job = this.find(id);
    if (!this.mayWrite(id, fence) || job.state !== "CLAIMED") return false;
    job.state = "IN_PROGRESS";
    return true;
  }

  complete(id: string, fence: number): boolean {
    const job = this.find(id);
    if (!this.mayWrite(id, fence) || job.state !== "IN_PROGRESS") return false;
    Object.assign(job, { state: "COMPLETE", owner: null });
    return true;
  }

  #fail(job: ModelJob, kind: string, now: number): void {
    job.attempts += 1;
    if (kind === "timeout" || kind === "stalled") job.timeouts += 1;
    job.priority += 5 * job.attempts;
    const over = kind === "incurable" || job.attempts >= job.max_attempts || job.timeouts >= 2;
    const minutes = Math.min(5 * 2 ** (job.attempts - 1), 60);
    const retry_after_ms = over ? null : now + minutes * 60_000;
    Object.assign(job, { state: "FAILED", owner: null, deaths: 0, retry_after_ms, news: over });
  }

  fail(id: string, fence: number, kind: string, now: number): boolean {
    const job = this.find(id);
    if (!this.mayWrite(id, fence) || job.state !== "IN_PROGRESS") return false;
    this.#fail(job, kind, now);
    return true;
  }

  interrupt(id: string, fence: number): boolean {
    if (!this.mayWrite(id, fence)) return false;
    Object.assign(this.find(id), { state: "PENDING", owner: null });
    return true;
  }

  adopt(id: string, fence: number, owner: string): boolean | undefined {
    if (!this.owners.some((one) => one.id === owner)) return undefined;
    if (!this.mayWrite(id, fence)) return false;
    Object.assign(this.find(id), { owner, fence: fence + 1 });
    return true;
  }

  cancel(id: string): boolean {
    const job = this.find(id);
    if (job.state === "COMPLETE") return false;
    if (job.state !== "CANCELLED") {
      Object.assign(job, { state: "CANCELLED", owner: null, news: true });
    }
    return true;
  }

  retry(id: string): boolean {
    const job = this.find(id);
    if (job.state !== "FAILED") return false;
    const hopeless = job.after
      .map((needs) => this.find(needs))
      .some((needs) => this.ended(needs) && needs.state !== "COMPLETE");
    if (hopeless) return false;
    const fresh = { attempts: 0, timeouts: 0, deaths: 0, priority: job.first_priority };
    Object.assign(job, { ...fresh, state: "PENDING", news: false });
    return true;
  }

  hold(id: string): boolean {
    const job = this.find(id);
    if (this.ended(job)) return false;
    job.held = true;
    return true;
  }

  release(id: string): boolean {
    const job = this.find(id);
    if (this.ended(job)) return false;
    job.held = false;
    return true;
  }

  failDependants(): string[] {
    const failed: string[] = [];
    for (;;) {
      const told = this.jobs.find(({ news }) => news);
      if (told === undefined) return failed.sort();
      told.news = false;
      for (const job of this.jobs) {
        const waits = job.state === "PENDING" || (job.state === "FAILED" && !this.ended(job));
        if (!waits || !job.after.includes(told.id)) continue;
        Object.assign(job, { state: "FAILED", retry_after_ms: null, deaths: 0, news: true });
        failed.push(job.id);
      }
    }
  }

  register(id: string, pid: number, now: number): boolean {
    const there = this.owners.find((one) => one.id === id);
    if (there !== undefined && there.pid !== pid) return false;
    if (there === undefined) this.owners.push({ id, pid, beat_ms: now });
    else there.beat_ms = now;
    return true;
  }

  beat(id: string, now: number): boolean {
    const there = this.owners.find((one) => one.id === id);
    if (there !== undefined) there.beat_ms = now;
    return there !== undefined;
  }

  deregister(id: string): boolean {
    if (this.jobs.some(({ owner }) => owner === id)) return false;
    const before = this.owners.length;
    this.owners = this.owners.filter((one) => one.id !== id);
    return this.owners.length < before;
  }

  /** The jobs that were taken from the dead. */
  reap(now: number, proof: (owner: { id: string }) => OwnerVerdict): string[] {
    const taken: string[] = [];
    for (const owner of this.owners) {
      const verdict = proof(owner);
      if (verdict === "alive") continue;
      if (verdict === "unknown" && now - owner.beat_ms <= 5 * 60_000) continue;
      for (const job of this.jobs.filter((one) => one.owner === owner.id)) {
        if (job.state === "IN_PROGRESS") job.deaths += 1;
        Object.assign(job, { state: "PENDING", owner: null, fence: job.fence + 1 });
        if (job.deaths >= 3) this.#fail(job, "owner_died", now);
        taken.push(job.id);
      }
      this.owners = this.owners.filter((one) => one !== owner);
    }
    return taken.sort();
  }
}
