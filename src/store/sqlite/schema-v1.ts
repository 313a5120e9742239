/**
 * The first schema. Never edited after a release: what has to change, a later migration changes.
 *
 * The hot table `jobs` has no JSON of entries in it, so that a claim rewrites a small row. `lane`
 * says in which of two partial indexes a job is, so that a claim reads one index entry however many
 * jobs wait for something else:
 *   0  neither: running, ended, held, or waiting for another job
 *   1  deferred: only time keeps it from being claimed
 *   2  ready: due when it was last looked at
 */
export const SCHEMA_V1 = `
CREATE TABLE submissions (
  id TEXT NOT NULL PRIMARY KEY,
  file_name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  snapshot_path TEXT,
  accepted_at_ms INTEGER NOT NULL,
  detail TEXT NOT NULL,
  total_jobs INTEGER NOT NULL CHECK (total_jobs > 0),
  open_jobs INTEGER NOT NULL CHECK (open_jobs BETWEEN 0 AND total_jobs),
  ended_at_ms INTEGER CHECK ((ended_at_ms IS NULL) = (open_jobs > 0)),
  placed_path TEXT,
  placed_at_ms INTEGER
) STRICT;
CREATE INDEX submissions_open ON submissions (sha256) WHERE open_jobs > 0;
CREATE INDEX submissions_unplaced ON submissions (id) WHERE placed_at_ms IS NULL;

CREATE TABLE owners (
  id TEXT NOT NULL PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start_token TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  registered_at_ms INTEGER NOT NULL,
  beat_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY,
  submission_id TEXT NOT NULL REFERENCES submissions (id),
  entry_index INTEGER NOT NULL,
  runner TEXT NOT NULL,
  state TEXT NOT NULL
    CHECK (state IN ('PENDING', 'CLAIMED', 'IN_PROGRESS', 'COMPLETE', 'FAILED', 'CANCELLED')),
  lane INTEGER NOT NULL CHECK (lane IN (0, 1, 2)),
  rank_s INTEGER NOT NULL,
  due_at_ms INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  first_priority INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  not_before_ms INTEGER,
  retry_after_ms INTEGER,
  attempt_count INTEGER NOT NULL,
  timeout_count INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  owner_deaths INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  owner TEXT REFERENCES owners (id),
  claimed_at_ms INTEGER,
  started_at_ms INTEGER,
  ended_at_ms INTEGER,
  held_at_ms INTEGER,
  waiting_on INTEGER NOT NULL CHECK (waiting_on >= 0),
  final INTEGER NOT NULL CHECK (final IN (0, 1)),
  -- Ended otherwise than COMPLETE, and the jobs that wait for it were not failed yet.
  untold INTEGER NOT NULL CHECK (untold IN (0, 1)),
  failure TEXT
) STRICT;
CREATE INDEX jobs_ready ON jobs (runner, rank_s, id) WHERE lane = 2;
CREATE INDEX jobs_deferred ON jobs (runner, due_at_ms) WHERE lane = 1;
CREATE INDEX jobs_held ON jobs (id) WHERE held_at_ms IS NOT NULL;
CREATE INDEX jobs_waiting_on ON jobs (id) WHERE waiting_on > 0;
CREATE INDEX jobs_owner ON jobs (owner) WHERE owner IS NOT NULL;
CREATE INDEX jobs_untold ON jobs (id) WHERE untold = 1;
CREATE INDEX jobs_state ON jobs (state, id);
CREATE UNIQUE INDEX jobs_submission ON jobs (submission_id, entry_index);

CREATE TABLE job_documents (
  job_id TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
  entry TEXT NOT NULL,
  bundle_dir TEXT NOT NULL,
  result TEXT
) STRICT;

CREATE TABLE prerequisites (
  job_id TEXT NOT NULL REFERENCES jobs (id),
  needs_id TEXT NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (job_id, needs_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX prerequisites_needs ON prerequisites (needs_id);

CREATE TABLE job_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  from_state TEXT,
  to_state TEXT NOT NULL,
  fence INTEGER NOT NULL,
  owner TEXT,
  -- FAILED for good by this change.
  final INTEGER NOT NULL CHECK (final IN (0, 1)),
  reason TEXT
) STRICT;
CREATE INDEX job_events_job ON job_events (job_id, seq);
-- One accepted result for each job and fence.
CREATE UNIQUE INDEX job_events_result ON job_events (job_id, fence)
  WHERE kind IN ('complete', 'fail');

CREATE TABLE job_steps (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  fence INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  step TEXT NOT NULL,
  status TEXT NOT NULL,
  record TEXT NOT NULL
) STRICT;
CREATE INDEX job_steps_job ON job_steps (job_id, seq);

CREATE TABLE queue_hold (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  held_at_ms INTEGER NOT NULL
) STRICT;
`;
