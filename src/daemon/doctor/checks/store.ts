import { evalStepFault, judgeStepFault, loadStepFault } from "../../../eval/index.ts";
import { openStill } from "../../../store/index.ts";
import { checkStation, type StationCheck } from "../../fsck.ts";
import { counted, failure, ok, warning, type Line } from "../line.ts";

export interface StoreInput {
  path: string;
  root: string;
  runs_dir: string;
  runs_fault: string | null;
  state_dir: string;
  lock_path: string;
}

const NAMED = 5;
const FAULTS = { load: loadStepFault, eval: evalStepFault, judge: judgeStepFault };

function checkLines({ violations, notes, jobs, submissions }: StationCheck): Line[] {
  const lines = violations
    .slice(0, NAMED)
    .map(({ rule, subject, message }) =>
      failure(
        `the queue breaks a promise (${rule}): ${subject === null ? "" : `${subject} `}${message}`,
        "touchstoned fsck lists everything; touchstoned queue rebuild makes the store anew from the files.",
      ),
    );
  const more = violations.length - NAMED;
  if (more > 0) {
    lines.push(
      failure(
        `${counted(more, "more promise is", "more promises are")} broken`,
        "touchstoned fsck",
      ),
    );
  }
  const lost = notes.filter(({ rule }) => rule !== "run_removed");
  for (const { subject, message } of lost.slice(0, NAMED)) {
    lines.push(
      warning(
        `${subject ?? ""} ${message}`.trim(),
        "Its results are there; nothing needs to be done.",
      ),
    );
  }
  if (violations.length > 0) return lines;
  const counts = `${counted(submissions, "file")} taken up, ${counted(jobs, "job")}`;
  return [ok(`the store is whole, and so is what it promises: ${counts}`), ...lines];
}

/** Reads every page of the store and checks what `fsck` checks. Writes nothing. */
export async function storeLines(input: StoreInput): Promise<Line[]> {
  const { path, ...place } = input;
  const still = await openStill(path);
  if (still === undefined) {
    return [ok(`there is no queue yet (${path}); the daemon makes one when it starts`)];
  }
  try {
    const rooms = {
      stepFault: (kind: keyof typeof FAULTS, bundle_dir: string, started_ms: number) =>
        FAULTS[kind](bundle_dir, started_ms),
    };
    return checkLines(await checkStation({ store: still.store, rooms, ...place }));
  } finally {
    await still.close();
  }
}
