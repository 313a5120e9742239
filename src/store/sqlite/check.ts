import { AGEING_S_PER_POINT, MAX_TIMEOUTS } from "../../queue/resident.ts";
import type { Violation } from "../store.ts";
import type { Database } from "./database.ts";
import { LANE } from "./write-job.ts";

/** Which change may lead from where to where; '' = the job is new. */
const CHANGES: readonly (readonly [kind: string, from: string, to: string])[] = [
  ["accept", "", "PENDING"],
  ["restore", "", "COMPLETE"],
  ["restore", "", "FAILED"],
  ["restore", "", "CANCELLED"],
  ["claim", "PENDING", "CLAIMED"],
  ["claim", "FAILED", "CLAIMED"],
  ["start", "CLAIMED", "IN_PROGRESS"],
  ["complete", "IN_PROGRESS", "COMPLETE"],
  ["fail", "IN_PROGRESS", "FAILED"],
  ["interrupt", "CLAIMED", "PENDING"],
  ["interrupt", "IN_PROGRESS", "PENDING"],
  ["owner_died", "CLAIMED", "PENDING"],
  ["owner_died", "IN_PROGRESS", "PENDING"],
  ["owner_died", "IN_PROGRESS", "FAILED"],
  ["adopt", "CLAIMED", "CLAIMED"],
  ["adopt", "IN_PROGRESS", "IN_PROGRESS"],
  ["prerequisite_failed", "PENDING", "FAILED"],
  ["prerequisite_failed", "FAILED", "FAILED"],
  ["cancel", "PENDING", "CANCELLED"],
  ["cancel", "CLAIMED", "CANCELLED"],
  ["cancel", "IN_PROGRESS", "CANCELLED"],
  ["cancel", "FAILED", "CANCELLED"],
  ["retry", "FAILED", "PENDING"],
  ...["PENDING", "CLAIMED", "IN_PROGRESS", "FAILED"].map(
    (state) => ["hold", state, state] as const,
  ),
  ...["PENDING", "CLAIMED", "IN_PROGRESS", "FAILED", "COMPLETE", "CANCELLED"].map(
    (state) => ["release", state, state] as const,
  ),
];

const CHANGE_LIST = CHANGES.map(([kind, from, to]) => `('${kind}','${from}','${to}')`).join(",");

/** Each change beside the one before it of the same job. */
const CHAIN = `
SELECT *, lag(to_state) OVER one AS was, lag(fence) OVER one AS fence_was,
  lag(final) OVER one AS final_was
FROM job_events WINDOW one AS (PARTITION BY job_id ORDER BY seq)`;

const ENDED = "(j.state IN ('COMPLETE', 'CANCELLED') OR (j.state = 'FAILED' AND j.final = 1))";
const WAITING = "(j.state IN ('PENDING', 'FAILED') AND j.final = 0)";
const RUNNING = "j.state IN ('CLAIMED', 'IN_PROGRESS')";
const OPEN_NEEDS = `(SELECT count(*) FROM prerequisites p JOIN jobs n ON n.id = p.needs_id
  WHERE p.job_id = j.id AND n.state <> 'COMPLETE')`;
const FAILURES = `(SELECT count(*) FROM job_events e WHERE e.job_id = j.id AND e.to_state = 'FAILED'
  AND e.kind IN ('fail', 'owner_died') AND e.seq > coalesce(
    (SELECT max(seq) FROM job_events r WHERE r.job_id = j.id AND r.kind = 'retry'), 0))`;

interface Rule {
  rule: string;
  /** Gives one row (subject, message) for each violation. */
  sql: string;
}

function rule(name: string, subject: string, message: string, from: string): Rule {
  return { rule: name, sql: `SELECT ${subject} AS subject, ${message} AS message FROM ${from}` };
}

const HISTORY_RULES: readonly Rule[] = [
  rule(
    "history_chain",
    "job_id",
    "'a change from ' || coalesce(from_state, 'nothing') || ' after ' || coalesce(was, 'nothing')",
    `(${CHAIN}) WHERE from_state IS NOT was`,
  ),
  rule(
    "history_state",
    "j.id",
    "'is ' || j.state || ', its history says ' || coalesce(e.to_state, 'nothing')",
    `jobs j LEFT JOIN job_events e
      ON e.seq = (SELECT max(seq) FROM job_events WHERE job_id = j.id)
      WHERE e.to_state IS NOT j.state`,
  ),
  rule(
    "allowed_change",
    "job_id",
    "kind || ' led from ' || coalesce(from_state, 'nothing') || ' to ' || to_state",
    `job_events WHERE (kind, coalesce(from_state, ''), to_state) NOT IN (VALUES ${CHANGE_LIST})`,
  ),
  rule(
    "ended_stays",
    "job_id",
    "'had ended as ' || was || ' when it became ' || to_state || ' by ' || kind",
    `(${CHAIN}) WHERE (was IN ('COMPLETE', 'CANCELLED') AND to_state <> was)
      OR (was = 'FAILED' AND final_was = 1 AND kind NOT IN ('retry', 'cancel', 'release'))`,
  ),
  rule(
    "one_result",
    "job_id",
    "'has ' || count(*) || ' results under fence ' || fence",
    "job_events WHERE kind IN ('complete', 'fail') GROUP BY job_id, fence HAVING count(*) > 1",
  ),
  rule(
    "fence_rises",
    "job_id",
    "'fence ' || fence || ' after ' || fence_was || ' at ' || kind",
    `(${CHAIN}) WHERE fence < fence_was
      OR (kind IN ('claim', 'adopt', 'owner_died') AND fence <= fence_was)`,
  ),
  rule(
    "fence_known",
    "j.id",
    "'fence is ' || j.fence || ', its history ends with ' || e.fence",
    `jobs j JOIN job_events e ON e.seq = (SELECT max(seq) FROM job_events WHERE job_id = j.id)
      WHERE e.fence <> j.fence`,
  ),
];

const JOB_RULES: readonly Rule[] = [
  rule(
    "attempts_within_limit",
    "j.id",
    "j.attempt_count || ' failures, ' || j.timeout_count || ' of them by a limit; at most '" +
      " || j.max_attempts",
    `jobs j WHERE j.attempt_count > j.max_attempts OR j.timeout_count > ${MAX_TIMEOUTS}
      OR (${WAITING} AND
        (j.attempt_count >= j.max_attempts OR j.timeout_count >= ${MAX_TIMEOUTS}))`,
  ),
  rule(
    "attempts_counted",
    "j.id",
    `'counts ' || j.attempt_count || ' failures, its history has ' || ${FAILURES}`,
    `jobs j WHERE j.attempt_count <> ${FAILURES}`,
  ),
  rule(
    "owner_while_running",
    "j.id",
    "'is ' || j.state || ' with owner ' || coalesce(j.owner, 'nobody')",
    `jobs j WHERE (${RUNNING}) <> (j.owner IS NOT NULL)`,
  ),
  rule(
    "owner_registered",
    "j.id",
    "'has owner ' || j.owner || ', which is not registered'",
    "jobs j WHERE j.owner IS NOT NULL AND j.owner NOT IN (SELECT id FROM owners)",
  ),
  rule(
    "end_is_whole",
    "j.id",
    "'is ' || j.state || ', but its end, result or retry time says otherwise'",
    `jobs j LEFT JOIN job_documents d ON d.job_id = j.id
      WHERE ${ENDED} <> (j.ended_at_ms IS NOT NULL)
      OR (j.final = 1 AND j.state <> 'FAILED')
      OR (j.state = 'COMPLETE') <> (d.result IS NOT NULL)
      OR (j.state = 'FAILED' AND j.final = 0) <> (j.retry_after_ms IS NOT NULL)`,
  ),
  rule(
    "document_there",
    "j.id",
    "'its entry is missing or not the one it was taken up with'",
    `jobs j LEFT JOIN job_documents d ON d.job_id = j.id
      WHERE d.entry IS NULL OR NOT json_valid(d.entry)
      OR (CASE WHEN json_valid(d.entry) THEN json_extract(d.entry, '$.runner') END)
        IS NOT j.runner`,
  ),
  rule(
    "claimable_index",
    "j.id",
    "'is ' || j.state || ' in lane ' || j.lane || ', rank ' || j.rank_s || ', due ' || j.due_at_ms",
    `jobs j WHERE (j.lane <> ${LANE.none})
        <> (${WAITING} AND j.held_at_ms IS NULL AND j.waiting_on = 0)
      OR j.rank_s <> j.created_at_ms / 1000 + j.priority * ${AGEING_S_PER_POINT}
      OR j.due_at_ms <> max(coalesce(j.not_before_ms, 0), coalesce(j.retry_after_ms, 0))`,
  ),
  rule(
    "waiting_on_counted",
    "j.id",
    `'waits for ' || j.waiting_on || ' jobs, ' || ${OPEN_NEEDS} || ' are not COMPLETE'`,
    `jobs j WHERE j.waiting_on <> ${OPEN_NEEDS}`,
  ),
  rule(
    "after_respected",
    "j.id",
    "'is ' || j.state || ' before what it waits for'",
    `jobs j WHERE (${RUNNING} OR j.state = 'COMPLETE') AND ${OPEN_NEEDS} > 0 AND NOT EXISTS
      (SELECT 1 FROM job_events e WHERE e.job_id = j.id AND e.kind = 'restore')`,
  ),
  rule(
    "dependants_told",
    "j.id",
    "'waits for ' || n.id || ', which ended ' || n.state",
    `jobs j JOIN prerequisites p ON p.job_id = j.id JOIN jobs n ON n.id = p.needs_id
      WHERE ${WAITING} AND n.untold = 0
      AND (n.state = 'CANCELLED' OR (n.state = 'FAILED' AND n.final = 1))`,
  ),
];

const SUBMISSION_RULES: readonly Rule[] = [
  rule(
    "jobs_all_there",
    "s.id",
    "'was taken up with ' || s.total_jobs || ' jobs, '" +
      " || (SELECT count(*) FROM jobs WHERE submission_id = s.id) || ' are there'",
    "submissions s WHERE s.total_jobs <> (SELECT count(*) FROM jobs WHERE submission_id = s.id)",
  ),
  rule(
    "submission_open",
    "s.id",
    "'says that ' || s.open_jobs || ' jobs are open'",
    `submissions s WHERE s.open_jobs <>
        (SELECT count(*) FROM jobs j WHERE j.submission_id = s.id AND NOT ${ENDED})
      OR (s.ended_at_ms IS NULL) <> (s.open_jobs > 0)`,
  ),
];

/** Names of all rules, for the tests that plant each violation. */
export const RULES: readonly string[] = [
  "file",
  ...[...HISTORY_RULES, ...JOB_RULES, ...SUBMISSION_RULES].map((one) => one.rule),
];

function checkFile(db: Database): Violation[] {
  const found: Violation[] = [];
  for (const row of db.all<{ integrity_check: string }>("PRAGMA integrity_check")) {
    if (row.integrity_check === "ok") continue;
    found.push({ rule: "file", subject: null, message: row.integrity_check });
  }
  for (const row of db.all<{ table: string; parent: string }>("PRAGMA foreign_key_check")) {
    const message = `a row of ${row.table} points to nothing in ${row.parent}`;
    found.push({ rule: "file", subject: null, message });
  }
  return found;
}

/** See `Store.check`. */
export function check(db: Database): Violation[] {
  return db.read(() => {
    const found = checkFile(db);
    for (const { rule: name, sql } of [...HISTORY_RULES, ...JOB_RULES, ...SUBMISSION_RULES]) {
      for (const row of db.all<{ subject: string; message: string }>(`${sql} ORDER BY subject`)) {
        found.push({ rule: name, subject: row.subject, message: row.message });
      }
    }
    return found;
  });
}
