import type { Owner, OwnerOutcome, OwnerVerdict, ReapReport, RegisteredOwner } from "../store.ts";
import { OWNER_SILENCE_MS } from "../store.ts";
import type { Database, Values } from "./database.ts";
import { applyEvent } from "./write-job.ts";

const COLUMNS = "id, host, pid, start_token, boot_id, registered_at_ms, beat_at_ms";

export function readOwners(db: Database): RegisteredOwner[] {
  return db.all<RegisteredOwner>(`SELECT ${COLUMNS} FROM owners ORDER BY id`);
}

function unknown(id: string): OwnerOutcome {
  const reason = `${id} is not registered: it was given up for dead, or never registered`;
  return { ok: false, code: "owner_unknown", reason };
}

/** See `Store.register`. */
export function register(db: Database, owner: Owner, now_ms: number): OwnerOutcome {
  return db.write(() => {
    const sql = `SELECT ${COLUMNS} FROM owners WHERE id = :id`;
    const there = db.one<RegisteredOwner>(sql, { id: owner.id });
    if (there !== undefined) {
      const same =
        there.host === owner.host &&
        there.pid === owner.pid &&
        there.start_token === owner.start_token &&
        there.boot_id === owner.boot_id;
      // Taking the name over would take the jobs over as well, as if they were still running.
      if (!same) {
        const reason = `${owner.id} is registered by process ${there.pid} of ${there.host}`;
        return { ok: false, code: "owner_taken", reason };
      }
      return beatWithin(db, owner.id, now_ms);
    }
    const { id, host, pid, start_token, boot_id } = owner;
    const values: Values = { id, host, pid, start_token, boot_id, now_ms };
    db.run(
      `INSERT INTO owners (${COLUMNS})
       VALUES (:id, :host, :pid, :start_token, :boot_id, :now_ms, :now_ms)`,
      values,
    );
    return { ok: true };
  });
}

function beatWithin(db: Database, id: string, now_ms: number): OwnerOutcome {
  const changed = db.run("UPDATE owners SET beat_at_ms = :now_ms WHERE id = :id", { id, now_ms });
  return changed === 0 ? unknown(id) : { ok: true };
}

/** See `Store.beat`. */
export function beat(db: Database, id: string, now_ms: number): OwnerOutcome {
  return db.write(() => beatWithin(db, id, now_ms));
}

function jobsOfOwner(db: Database, owner: string): string[] {
  const rows = db.all<{ id: string }>("SELECT id FROM jobs WHERE owner = :owner ORDER BY id", {
    owner,
  });
  return rows.map(({ id }) => id);
}

/** See `Store.deregister`. */
export function deregister(db: Database, id: string): OwnerOutcome {
  return db.write(() => {
    const [job] = jobsOfOwner(db, id);
    if (job !== undefined) {
      const reason = `${id} still has job ${job}: finish it or hand it back`;
      return { ok: false, code: "owner_busy", reason };
    }
    const removed = db.run("DELETE FROM owners WHERE id = :id", { id });
    return removed === 0 ? unknown(id) : { ok: true };
  });
}

function isDead(owner: RegisteredOwner, verdict: OwnerVerdict, now_ms: number): boolean {
  if (verdict === "unknown") return now_ms - owner.beat_at_ms > OWNER_SILENCE_MS;
  return verdict === "dead";
}

function bury(
  db: Database,
  owner: RegisteredOwner,
  why: string,
  now_ms: number,
  report: ReapReport,
) {
  // A beat or a new registration since we looked means that our verdict is about the past.
  const still = db.one(
    `SELECT 1 FROM owners WHERE id = :id AND beat_at_ms = :beat_at_ms
      AND pid = :pid AND start_token = :start_token AND boot_id = :boot_id`,
    {
      id: owner.id,
      beat_at_ms: owner.beat_at_ms,
      pid: owner.pid,
      start_token: owner.start_token,
      boot_id: owner.boot_id,
    },
  );
  if (still === undefined) return;
  for (const id of jobsOfOwner(db, owner.id)) {
    const outcome = applyEvent(db, id, { kind: "owner_died", reason: why }, now_ms);
    if (!outcome.ok) throw new TypeError(`a job with an owner does not run: ${outcome.reason}`);
    (outcome.job.state === "FAILED" ? report.failed : report.interrupted).push(id);
  }
  db.run("DELETE FROM owners WHERE id = :id", { id: owner.id });
  report.owners.push(owner.id);
}

/** See `Store.reap`. `proof` looks at processes, so it is asked before the transaction. */
export function reap(
  db: Database,
  now_ms: number,
  proof: (owner: RegisteredOwner) => OwnerVerdict,
): ReapReport {
  const report: ReapReport = { owners: [], interrupted: [], failed: [] };
  const dead: { owner: RegisteredOwner; why: string }[] = [];
  for (const owner of readOwners(db)) {
    const verdict = proof(owner);
    if (!isDead(owner, verdict, now_ms)) continue;
    const silent_s = Math.round((now_ms - owner.beat_at_ms) / 1000);
    const how = verdict === "dead" ? "is gone" : `gave no sign for ${silent_s} s`;
    dead.push({ owner, why: `${owner.id} (process ${owner.pid} of ${owner.host}) ${how}` });
  }
  if (dead.length === 0) return report;
  return db.write(() => {
    for (const { owner, why } of dead) bury(db, owner, why, now_ms, report);
    return report;
  });
}
