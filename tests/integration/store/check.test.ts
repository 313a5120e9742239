import { expect, test } from "vitest";
import { RULES } from "../../../src/store/sqlite/check.ts";
import { sqliteInMemory } from "../../helpers/sqlite-memory.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const ERROR = { kind: "error", message: "it broke", step: null } as const;

/**
 * One of each: S1-0 COMPLETE, S1-1 IN_PROGRESS, S1-2 FAILED and waiting, S1-3 PENDING after S1-1,
 * S1-4 FAILED for good, S1-5 CANCELLED.
 */
async function populated() {
  const { store, raw } = sqliteInMemory();
  const entries = [{}, { id: "b" }, {}, { after: ["b"] }, { max_attempts: 1 }, {}];
  await store.accept(submissionOf("S1"), jobsOf("S1", entries));
  await store.register(ownerOf("box"), T0);
  await store.cancel("S1-5", T0);
  const take = async () => {
    const job = await store.claim("box", T0, { runners: ["local"] });
    if (job === undefined) throw new Error("nothing was claimed");
    await store.start(job.id, job.fence, T0);
    return job;
  };
  const [done, running, failed, gone] = [await take(), await take(), await take(), await take()];
  await store.complete(done.id, done.fence, T0, {});
  await store.fail(failed.id, failed.fence, T0, ERROR);
  await store.fail(gone.id, gone.fence, T0, ERROR);
  expect([done, running, failed, gone].map(({ id }) => id)).toEqual([
    "S1-0",
    "S1-1",
    "S1-2",
    "S1-4",
  ]);
  expect(await store.check()).toEqual([]);
  raw.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;");
  return { store, raw };
}

/** Each breaks one rule; it may break others with it. */
const PLANTED: [rule: string, sql: string][] = [
  ["file", "DELETE FROM owners"],
  ["history_chain", "UPDATE job_events SET from_state = 'FAILED' WHERE kind = 'start'"],
  ["history_state", "DELETE FROM job_events WHERE job_id = 'S1-3'"],
  ["history_state", "UPDATE jobs SET state = 'PENDING', owner = NULL WHERE id = 'S1-1'"],
  ["allowed_change", "UPDATE job_events SET kind = 'fail' WHERE kind = 'complete'"],
  [
    "ended_stays",
    `INSERT INTO job_events (job_id, at_ms, kind, from_state, to_state, fence, final)
      VALUES ('S1-0', 1, 'interrupt', 'COMPLETE', 'PENDING', 1, 0)`,
  ],
  [
    "ended_stays",
    `INSERT INTO job_events (job_id, at_ms, kind, from_state, to_state, fence, final)
      VALUES ('S1-4', 1, 'claim', 'FAILED', 'CLAIMED', 2, 0)`,
  ],
  [
    "one_result",
    `DROP INDEX job_events_result;
      INSERT INTO job_events (job_id, at_ms, kind, from_state, to_state, fence, final)
      VALUES ('S1-0', 1, 'complete', 'IN_PROGRESS', 'COMPLETE', 1, 0)`,
  ],
  ["fence_rises", "UPDATE job_events SET fence = 0 WHERE kind = 'claim' AND job_id = 'S1-1'"],
  ["fence_known", "UPDATE jobs SET fence = 7 WHERE id = 'S1-1'"],
  ["attempts_within_limit", "UPDATE jobs SET attempt_count = 6 WHERE id = 'S1-4'"],
  ["attempts_within_limit", "UPDATE jobs SET timeout_count = 2 WHERE id = 'S1-2'"],
  ["attempts_counted", "UPDATE jobs SET attempt_count = 2 WHERE id = 'S1-2'"],
  ["owner_while_running", "UPDATE jobs SET owner = NULL WHERE id = 'S1-1'"],
  ["owner_while_running", "UPDATE jobs SET owner = 'box' WHERE id = 'S1-3'"],
  ["owner_registered", "UPDATE jobs SET owner = 'nobody' WHERE id = 'S1-1'"],
  ["end_is_whole", "UPDATE job_documents SET result = NULL WHERE job_id = 'S1-0'"],
  ["end_is_whole", "UPDATE jobs SET ended_at_ms = NULL WHERE id = 'S1-5'"],
  ["end_is_whole", "UPDATE jobs SET retry_after_ms = NULL, due_at_ms = 0 WHERE id = 'S1-2'"],
  ["document_there", "DELETE FROM job_documents WHERE job_id = 'S1-3'"],
  ["document_there", "UPDATE job_documents SET entry = '{' WHERE job_id = 'S1-3'"],
  ["document_there", "UPDATE jobs SET runner = 'other' WHERE id = 'S1-3'"],
  ["claimable_index", "UPDATE jobs SET lane = 2 WHERE id = 'S1-3'"],
  ["claimable_index", "UPDATE jobs SET lane = 0 WHERE id = 'S1-2'"],
  ["claimable_index", "UPDATE jobs SET rank_s = rank_s - 1 WHERE id = 'S1-3'"],
  ["claimable_index", "UPDATE jobs SET due_at_ms = 0 WHERE id = 'S1-2'"],
  ["waiting_on_counted", "UPDATE jobs SET waiting_on = 2 WHERE id = 'S1-3'"],
  ["after_respected", "INSERT INTO prerequisites VALUES ('S1-1', 'S1-2')"],
  [
    "dependants_told",
    "INSERT INTO prerequisites SELECT 'S1-3', 'S1-4'; UPDATE jobs SET untold = 0",
  ],
  ["jobs_all_there", "DELETE FROM jobs WHERE id = 'S1-3'"],
  ["submission_open", "UPDATE submissions SET open_jobs = 2"],
  ["submission_open", "UPDATE submissions SET ended_at_ms = 1"],
];

test.each(PLANTED)("%s: %s", async (rule, sql) => {
  const { store, raw } = await populated();
  raw.exec(sql);
  const found = await store.check();
  expect(found.map((violation) => violation.rule)).toContain(rule);
  for (const { message } of found) expect(message).not.toBe("");
});

test("a value that the schema forbids is found", async () => {
  const { store, raw } = await populated();
  raw.exec("UPDATE jobs SET lane = 7 WHERE id = 'S1-0'; PRAGMA ignore_check_constraints = OFF;");
  expect((await store.check()).map((violation) => violation.rule)).toContain("file");
});

test("every rule has its violation here", () => {
  expect([...new Set(PLANTED.map(([rule]) => rule))].sort()).toEqual([...RULES].sort());
});
