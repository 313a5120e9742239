/**
 * Memory that the model of a job needs, MB; null where nobody knows. It stands in the index that a
 * claim reads, so that jobs which do not fit cost an entry of it and no more.
 */
export const SCHEMA_V2 = `
ALTER TABLE jobs ADD COLUMN memory_mb INTEGER;
DROP INDEX jobs_ready;
CREATE INDEX jobs_ready ON jobs (runner, rank_s, id, due_at_ms, memory_mb) WHERE lane = 2;
`;
