import type { JsonValue } from "../../core/json.ts";
import { fenceFault, type Job, type JobEvent, type JobFailure } from "../../queue/resident.ts";
import {
  QUEUE,
  type Able,
  type HoldOutcome,
  type JobFilter,
  type JobOutcome,
  type NewJob,
  type NewSubmission,
  type Owner,
  type OwnerVerdict,
  type RegisteredOwner,
  type StepEntry,
  type Store,
  type SubmissionFilter,
} from "../store.ts";
import { accept } from "./accept.ts";
import { check } from "./check.ts";
import { claim, isRegistered, ownerUnknown } from "./claim.ts";
import type { Database } from "./database.ts";
import { failDependants, retry } from "./dependants.ts";
import { beat, deregister, readOwners, reap, register } from "./owners.ts";
import {
  listJobs,
  listSubmissions,
  nextDue,
  readBlocked,
  readCounts,
  readHistory,
  readSteps,
} from "./queries.ts";
import { readJob, readJobs, readSubmissions } from "./rows.ts";
import { applyEvent, notFound } from "./write-job.ts";

/** The store on SQLite. Async in name only: each method has done its work when it returns. */
export class SqliteStore implements Store {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  #apply(id: string, event: JobEvent, now_ms: number): JobOutcome {
    return this.#db.write(() => applyEvent(this.#db, id, event, now_ms));
  }

  async accept(submission: NewSubmission, jobs: readonly NewJob[]) {
    return accept(this.#db, submission, jobs);
  }

  async submissions(filter: SubmissionFilter = {}) {
    return listSubmissions(this.#db, filter);
  }

  async submission(id: string) {
    return readSubmissions(this.#db, "WHERE id = :id", { id })[0];
  }

  async place(id: string, path: string, now_ms: number) {
    const sql = "UPDATE submissions SET placed_path = :path, placed_at_ms = :now_ms WHERE id = :id";
    return this.#db.write(() => this.#db.run(sql, { id, path, now_ms }) > 0);
  }

  async jobs(filter: JobFilter = {}) {
    return listJobs(this.#db, filter);
  }

  async job(id: string) {
    return readJob(this.#db, id);
  }

  async jobsOf(id: string): Promise<Job[]> {
    return readJobs(this.#db, "WHERE j.submission_id = :id ORDER BY j.entry_index", { id });
  }

  async history(job_id: string) {
    return readHistory(this.#db, job_id);
  }

  async steps(job_id: string) {
    return readSteps(this.#db, job_id);
  }

  async claim(owner_id: string, now_ms: number, can: Able) {
    return claim(this.#db, owner_id, now_ms, can);
  }

  async start(id: string, fence: number, now_ms: number) {
    return this.#apply(id, { kind: "start", fence }, now_ms);
  }

  async step(id: string, fence: number, now_ms: number, step: StepEntry): Promise<JobOutcome> {
    return this.#db.write(() => {
      const job = readJob(this.#db, id);
      if (job === undefined) return notFound(id);
      const fault = fenceFault(job, fence);
      if (fault !== undefined) return fault;
      const record = JSON.stringify(step.record);
      this.#db.run(
        `INSERT INTO job_steps (job_id, fence, at_ms, step, status, record)
          VALUES (:id, :fence, :now_ms, :step, :status, :record)`,
        { id, fence, now_ms, step: step.step, status: step.status, record },
      );
      return { ok: true, job };
    });
  }

  async complete(id: string, fence: number, now_ms: number, result: JsonValue) {
    return this.#apply(id, { kind: "complete", fence, result }, now_ms);
  }

  async fail(id: string, fence: number, now_ms: number, failure: JobFailure) {
    return this.#apply(id, { kind: "fail", fence, failure }, now_ms);
  }

  async interrupt(id: string, fence: number, now_ms: number, why: string) {
    return this.#apply(id, { kind: "interrupt", fence, reason: why }, now_ms);
  }

  async adopt(id: string, fence: number, owner: string, now_ms: number): Promise<JobOutcome> {
    return this.#db.write(() => {
      if (!isRegistered(this.#db, owner)) throw ownerUnknown(owner);
      return applyEvent(this.#db, id, { kind: "adopt", fence, owner }, now_ms);
    });
  }

  async cancel(id: string, now_ms: number) {
    return this.#apply(id, { kind: "cancel" }, now_ms);
  }

  async retry(id: string, now_ms: number) {
    return retry(this.#db, id, now_ms);
  }

  async hold(target: string, now_ms: number): Promise<HoldOutcome> {
    if (target !== QUEUE) return this.#apply(target, { kind: "hold" }, now_ms);
    const sql = "INSERT OR IGNORE INTO queue_hold (one, held_at_ms) VALUES (1, :now_ms)";
    this.#db.write(() => this.#db.run(sql, { now_ms }));
    return { ok: true };
  }

  async release(target: string, now_ms: number): Promise<HoldOutcome> {
    if (target !== QUEUE) return this.#apply(target, { kind: "release" }, now_ms);
    this.#db.write(() => this.#db.run("DELETE FROM queue_hold"));
    return { ok: true };
  }

  async failDependants(now_ms: number) {
    return failDependants(this.#db, now_ms);
  }

  async register(owner: Owner, now_ms: number) {
    return register(this.#db, owner, now_ms);
  }

  async beat(owner_id: string, now_ms: number) {
    return beat(this.#db, owner_id, now_ms);
  }

  async deregister(owner_id: string) {
    return deregister(this.#db, owner_id);
  }

  async owners() {
    return readOwners(this.#db);
  }

  async reap(now_ms: number, proof: (owner: RegisteredOwner) => OwnerVerdict) {
    return reap(this.#db, now_ms, proof);
  }

  async nextDue(now_ms: number, can: Able) {
    return nextDue(this.#db, now_ms, can);
  }

  async counts() {
    return readCounts(this.#db);
  }

  async blocked(now_ms: number, can: Able) {
    return readBlocked(this.#db, now_ms, can);
  }

  async check() {
    return check(this.#db);
  }

  async close() {
    this.#db.close();
  }
}
