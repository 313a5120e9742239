import { isEnded, type Job } from "../../queue/resident.ts";
import type { JobOutcome } from "../store.ts";
import type { Database } from "./database.ts";
import { readJob } from "./rows.ts";
import { applyEvent, notFound } from "./write-job.ts";

function endedOtherwise(job: Job): boolean {
  return isEnded(job) && job.state !== "COMPLETE";
}

function nameOf(job: Job): string {
  return job.entry.id === null ? job.id : `"${job.entry.id}" (${job.id})`;
}

const NEXT_UNTOLD = "SELECT id FROM jobs WHERE untold = 1 ORDER BY id LIMIT 1";
const DEPENDANTS = `
SELECT j.id FROM prerequisites p JOIN jobs j ON j.id = p.job_id
WHERE p.needs_id = :id AND j.final = 0 AND j.state IN ('PENDING', 'FAILED') ORDER BY j.id`;

/**
 * See `Store.failDependants`. Each ended job is looked at once (`untold`), not each waiting one; a
 * dependant that fails is itself untold, so a chain of any length is done in this one transaction.
 */
export function failDependants(db: Database, now_ms: number): string[] {
  if (db.one(NEXT_UNTOLD) === undefined) return [];
  return db.write(() => {
    const failed: string[] = [];
    for (;;) {
      const next = db.one<{ id: string }>(NEXT_UNTOLD);
      const ended = next && readJob(db, next.id);
      if (ended === undefined) return failed;
      const reason = `waited for ${nameOf(ended)}, which ended ${ended.state}`;
      for (const { id } of db.all<{ id: string }>(DEPENDANTS, { id: ended.id })) {
        const outcome = applyEvent(db, id, { kind: "prerequisite_failed", reason }, now_ms);
        if (outcome.ok) failed.push(id);
      }
      db.run("UPDATE jobs SET untold = 0 WHERE id = :id", { id: ended.id });
    }
  });
}

/** See `Store.retry`. Refused while something it waits for cannot become COMPLETE by itself. */
export function retry(db: Database, id: string, now_ms: number): JobOutcome {
  return db.write(() => {
    const job = readJob(db, id);
    if (job === undefined) return notFound(id);
    for (const needs of job.after) {
      const prerequisite = readJob(db, needs);
      if (job.state !== "FAILED" || prerequisite === undefined) continue;
      if (!endedOtherwise(prerequisite)) continue;
      const reason =
        `job ${id} waits for ${nameOf(prerequisite)}, which ended ${prerequisite.state}: ` +
        (prerequisite.state === "FAILED" ? "retry that one first" : "submit both again");
      return { ok: false, code: "prerequisite_ended", reason };
    }
    return applyEvent(db, id, { kind: "retry" }, now_ms);
  });
}
