import { EXIT } from "../../core/errors.ts";
import { commitOutbox } from "../../evidence/index.ts";
import { openStation } from "../../station/index.ts";
import type { CommandAction } from "../context.ts";
import type { EvidenceOptions } from "../evidence-place.ts";

export const run: CommandAction<EvidenceOptions> = async (options, context) => {
  const { env, cwd, clock, terminal } = context;
  const station = await openStation({ explicit: options.station, env, cwd });
  const { root, state_dir, settings } = station;
  const mode = settings.evidence.commit;
  const report = await commitOutbox({ root, state_dir, mode, env, clock });
  // What waits is not lost, but a script that wanted it committed has to know.
  const exitCode = report.waiting === 0 ? EXIT.done : EXIT.busy;
  if (options.json === true) {
    terminal.json(report);
    return exitCode;
  }
  for (const { path, commit, ref } of report.committed) {
    terminal.out(`${path}: ${commit.slice(0, 12)} on ${ref.replace("refs/heads/", "")}`);
  }
  if (report.waiting > 0)
    terminal.err(`${report.waiting} not committed yet: ${report.reason ?? ""}`);
  else if (report.committed.length === 0) terminal.out("nothing waits to be committed");
  return exitCode;
};
