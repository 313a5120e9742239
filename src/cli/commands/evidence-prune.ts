import { EXIT, usageError } from "../../core/errors.ts";
import { pruneEvidence } from "../../evidence/index.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import type { EvidenceOptions } from "../evidence-place.ts";

export interface EvidencePruneOptions extends EvidenceOptions {
  files?: string;
  dryRun?: boolean;
}

function keepOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const keep = Number(text);
  if (Number.isInteger(keep) && keep >= 1) return keep;
  throw usageError(`--files: "${text}" is not a number of documents to keep, 1 or more`);
}

export const run: CommandAction<EvidencePruneOptions> = async (options, context) => {
  const { env, cwd, clock, terminal } = context;
  const keep_files = keepOf(options.files);
  const { root, state_dir, settings } = await openStation({ explicit: options.station, env, cwd });
  const dry_run = options.dryRun === true;
  const report = pruneEvidence({
    root,
    state_dir,
    max_age_days: settings.evidence.max_age_days,
    keep_files,
    now_ms: clock.now_ms(),
    dry_run,
  });
  if (options.json === true) {
    terminal.json({ dry_run, ...report });
    return EXIT.done;
  }
  const done = dry_run ? "would be removed" : "removed";
  for (const key of report.state)
    terminal.out(`${done} from the state: stale evidence ${key.slice(0, 8)}`);
  for (const key of report.requests)
    terminal.out(`${done} from the state: old request ${key.slice(0, 8)}`);
  for (const path of report.files) terminal.out(`${done} from the work tree: ${path}`);
  const count = report.state.length + report.requests.length + report.files.length;
  if (count === 0) terminal.out("nothing to remove");
  if (report.files.length > 0 && !dry_run) {
    terminal.err("Commit it yourself: git add -A evidence && git commit -m 'Prune evidence'");
  }
  return EXIT.done;
};
