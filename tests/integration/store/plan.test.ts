import { beforeAll, describe, expect, test } from "vitest";
import { DUE, FIRST_READY, PROMOTE } from "../../../src/store/sqlite/claim.ts";
import { sqliteInMemory } from "../../helpers/sqlite-memory.ts";
import { jobsOf, ownerOf, submissionOf, T0 } from "../../helpers/store-fixtures.ts";

const WAITING = 100_000;
const CAN = { runners: ["local"], memory_mb: 16_000 };
const { store, raw, db } = sqliteInMemory();

/** Copies of one job, written past the store because this is about a queue that is already long. */
function multiply(change: string, prefix: string, jobs: number): void {
  raw.exec(`
    CREATE TEMP TABLE many AS SELECT * FROM jobs WHERE id = 'S1-0';
    UPDATE many SET entry_index = 0 ${change};
    INSERT INTO jobs SELECT '${prefix}' || printf('%06d', value) AS id, many.submission_id,
      1000000 * ${prefix.codePointAt(0)} + value AS entry_index, many.runner, many.state, many.lane,
      many.rank_s + value, many.due_at_ms, many.priority, many.first_priority, many.created_at_ms,
      many.updated_at_ms, many.not_before_ms, many.retry_after_ms, many.attempt_count,
      many.timeout_count, many.max_attempts, many.owner_deaths, many.fence, many.owner,
      many.claimed_at_ms, many.started_at_ms, many.ended_at_ms, many.held_at_ms, many.waiting_on,
      many.final, many.untold, many.failure, many.memory_mb
      FROM many, generate_series WHERE value < ${jobs};
    DROP TABLE many;`);
  raw.exec(`INSERT INTO job_documents
    SELECT id, (SELECT entry FROM job_documents WHERE job_id = 'S1-0'), '/runs', NULL
    FROM jobs WHERE id LIKE '${prefix}%'`);
}

/** Mean of one claim and of handing the job back. */
async function claims_ms(calls: number): Promise<number> {
  const started = performance.now();
  for (let n = 0; n < calls; n += 1) {
    const job = await store.claim("box", T0, CAN);
    if (job !== undefined) await store.interrupt(job.id, job.fence, T0, "handed back");
  }
  return (performance.now() - started) / calls;
}

function plan(sql: string): string[] {
  const rows = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, {
    runners: '["local"]',
    now_ms: T0,
    ...(sql.includes(":memory_mb") ? { memory_mb: 1000 } : {}),
  });
  return rows.map(({ detail }) => detail);
}

beforeAll(async () => {
  raw.exec(`CREATE TEMP TABLE generate_series AS
    WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < ${WAITING})
    SELECT value FROM n`);
  await store.accept(submissionOf("S1"), jobsOf("S1", [{ priority: 1 }]));
  await store.register(ownerOf("box"), T0);
});

describe("a claim with 100,000 jobs waiting", () => {
  test("reads one entry of an index for each runner: no scan of jobs, no sort of them", () => {
    const steps = plan(FIRST_READY);
    expect(steps.join("\n")).toMatch(
      /SEARCH jobs USING (COVERING )?INDEX jobs_ready \(runner=\?\)/,
    );
    expect(steps.filter((step) => /^SCAN (?!able\b|queue_hold\b)/.test(step))).toEqual([]);
    // The one sort is that of the runners: it comes after `able`, never within the search of jobs.
    expect(steps.filter((step) => step.includes("TEMP B-TREE"))).toHaveLength(1);
    expect(steps.at(-1)).toContain("TEMP B-TREE FOR ORDER BY");
  });

  test("putting due jobs in order reads an index as well", () => {
    expect(plan(PROMOTE).join("\n")).toMatch(
      /SEARCH jobs USING (COVERING )?INDEX jobs_deferred \(runner=\? AND due_at_ms<\?\)/,
    );
  });

  test("costs the same however many jobs wait, and whatever for", async () => {
    const alone = await claims_ms(300);
    const kinds = [
      ["", "R", WAITING],
      [", lane = 1, not_before_ms = 9e15, due_at_ms = 9e15", "N", WAITING],
      [", lane = 0, held_at_ms = 1", "H", WAITING / 4],
      [", lane = 0, waiting_on = 1", "A", WAITING / 4],
      [", runner = 'elsewhere'", "E", WAITING / 4],
      [", memory_mb = 99999", "M", WAITING / 4],
      [", lane = 1, state = 'FAILED', retry_after_ms = 9e15, due_at_ms = 9e15", "F", WAITING / 4],
    ] as const;
    const found: Record<string, number> = {};
    for (const [change, prefix, jobs] of kinds) {
      multiply(change, prefix, jobs);
      found[prefix] = Math.min(await claims_ms(100), await claims_ms(100), await claims_ms(100));
    }
    // A scan of 100,000 rows takes tens of milliseconds; a deeper tree takes a few microseconds.
    for (const ms of Object.values(found)) expect(ms).toBeLessThan(alone * 4 + 1);
    expect((await store.counts()).PENDING).toBe(3 * WAITING + 1);
  });

  test("100,000 jobs that fall due at one moment are put in order once", async () => {
    raw.exec(`UPDATE jobs SET not_before_ms = ${T0 + 5}, due_at_ms = ${T0 + 5} WHERE id LIKE 'N%'`);
    const later = T0 + 5;
    await store.hold("S1-0", T0);
    expect(await store.claim("box", later, CAN)).toBeDefined();
    expect(db.all(DUE, { runners: '["local"]', now_ms: later })).toEqual([]);
  });
});
