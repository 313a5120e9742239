import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../core/clock.ts";
import type { Env } from "../station/index.ts";
import { judge } from "../verdict/index.ts";
import { EvidenceBook } from "./book.ts";
import { commitOutbox, type CommitMode, type CommitReport } from "./commit-outbox.ts";
import { deviceKey } from "./device-key.ts";
import { makeEvidence, type EvidenceParts } from "./document.ts";
import { cleanSweep, privateThings } from "./privacy.ts";
import type { Evidence } from "./schema.ts";

interface WriteOptions {
  /** The station, links resolved. */
  root: string;
  state_dir: string;
  mode: CommitMode;
  env: Env;
  clock: Clock;
  random?: () => number;
  /** Texts of the prompts that were sent, so that none of them gets into the document. */
  prompts: readonly string[];
}

interface Written {
  evidence: Evidence;
  /** Path below the station's root, committed or not. */
  path: string;
  commit: CommitReport;
}

/**
 * A whole sweep becomes evidence: signed, durably in the outbox and the book, its request closed, and
 * then committed as far as that can be done now. Throws (1) for what is not evidence and for what must
 * not be committed; never for what git is like.
 */
export async function writeEvidence(parts: EvidenceParts, options: WriteOptions): Promise<Written> {
  const { state_dir, env, clock, prompts } = options;
  const device = deviceKey(state_dir);
  const private_things = privateThings(env, prompts);
  const sweep = cleanSweep(parts.sweep, private_things);
  // Its sentences repeat what was said, so they are made again; its numbers cannot change by that.
  const verdict = isDeepStrictEqual(sweep, parts.sweep)
    ? parts.verdict
    : judge(sweep, parts.verdict.bounds);
  const evidence = makeEvidence({ ...parts, sweep, verdict }, { device, private_things, clock });
  const entry = new EvidenceBook(state_dir, device).write(evidence);
  const commit = await commitOutbox(options);
  return { evidence, path: `${entry.path}.json`, commit };
}
