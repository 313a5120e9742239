import { EXIT, TouchstonedError } from "../../core/errors.ts";
import type { Job } from "../../queue/resident.ts";
import type { Able } from "../store.ts";
import type { Database } from "./database.ts";
import { FITS } from "./fits.ts";
import { applyEvent, LANE } from "./write-job.ts";

/** Jobs a transaction moves at most, so that thousands due at once do not hold up other writers. */
const PROMOTE_AT_ONCE = 2000;

/** Each job goes through here at most once for each time it is put off. */
export const PROMOTE = `
UPDATE jobs SET lane = ${LANE.ready} WHERE id IN (
  SELECT id FROM jobs
  WHERE lane = ${LANE.deferred} AND runner IN (SELECT value FROM json_each(:runners))
    AND due_at_ms <= :now_ms
  LIMIT ${PROMOTE_AT_ONCE})`;

/**
 * One index entry for each runner, and the best of those. `due_at_ms` is asked again because the
 * clock may have been set back after a job was promoted.
 */
export const FIRST_READY = `
SELECT first.id FROM json_each(:runners) AS able
JOIN jobs AS first ON first.id = (
  SELECT id FROM jobs
  WHERE lane = ${LANE.ready} AND runner = able.value AND due_at_ms <= :now_ms
    AND ${FITS}
  ORDER BY rank_s, id LIMIT 1)
WHERE NOT EXISTS (SELECT 1 FROM queue_hold)
ORDER BY first.rank_s, first.id LIMIT 1`;

/** Whether there is anything to promote: one look at the index, which is all that most claims do. */
export const DUE = `
SELECT 1 FROM jobs
WHERE lane = ${LANE.deferred} AND runner IN (SELECT value FROM json_each(:runners))
  AND due_at_ms <= :now_ms LIMIT 1`;

function promote(db: Database, runners: string, now_ms: number): void {
  while (db.one(DUE, { runners, now_ms }) !== undefined) db.run(PROMOTE, { runners, now_ms });
}

export function ownerUnknown(owner: string): TouchstonedError {
  return new TouchstonedError({
    code: "owner_unknown",
    exitCode: EXIT.busy,
    message: `${owner} is not registered: it was given up for dead, or never registered`,
    hint: "Register again.",
  });
}

export function isRegistered(db: Database, owner: string): boolean {
  return db.one("SELECT 1 FROM owners WHERE id = :owner", { owner }) !== undefined;
}

/**
 * See `Store.claim`. The choice and the change are one transaction that holds the write lock from
 * its start, so no two claims can choose the same job.
 */
export function claim(db: Database, owner: string, now_ms: number, can: Able): Job | undefined {
  const runners = JSON.stringify(can.runners);
  const memory_mb = can.memory_mb ?? null;
  promote(db, runners, now_ms);
  return db.write(() => {
    if (!isRegistered(db, owner)) throw ownerUnknown(owner);
    const first = db.one<{ id: string }>(FIRST_READY, { runners, now_ms, memory_mb });
    if (first === undefined) return undefined;
    const outcome = applyEvent(db, first.id, { kind: "claim", owner }, now_ms);
    // The index and the rule book disagree: better no job than a wrong one.
    if (!outcome.ok) throw new TypeError(`the claimable index is wrong: ${outcome.reason}`);
    return outcome.job;
  });
}
