import type { CommitMode, GitReport } from "../../../evidence/index.ts";
import type { OutboxState } from "../../../evidence/light.ts";
import { counted, failure, ok, span, warning, type Line } from "../line.ts";

export interface GitInput {
  mode: CommitMode;
  report: GitReport;
  outbox: OutboxState;
}

/** git itself holds the lock on its index for moments. */
const LEFT_BEHIND_S = 600;

function outboxLine({ outbox, mode }: GitInput, obstacle: string | null): Line | null {
  const { waiting, reason } = outbox;
  if (waiting === 0) return null;
  const why = obstacle ?? reason;
  const said = `${counted(waiting, "piece")} of evidence ${waiting === 1 ? "is" : "are"} not committed yet`;
  if (mode === "off") return ok(`${said}, as evidence.commit says`);
  return warning(
    `${said}${why === null ? "" : `: ${why}`}`,
    why === null
      ? "touchstoned evidence commit"
      : "Nothing is lost, and slots allowed answers from it. Mend that, then: touchstoned evidence commit",
  );
}

/** Whether evidence gets into git, and what of it waits. */
export function gitLines(input: GitInput): Line[] {
  const { mode, report } = input;
  const { work_tree, branch, obstacle, index_lock_age_s } = report;
  const lines: Line[] = [];
  const waiting = outboxLine(input, obstacle);
  if (waiting !== null) lines.push(waiting);
  if (work_tree === null && mode !== "off") {
    lines.push(
      failure(
        `evidence cannot be committed: ${obstacle ?? "there is no repository"}`,
        "A station is a git repository: mend it, or say evidence.commit: off in touchstoned.yaml.",
      ),
    );
  }
  if (index_lock_age_s !== null && index_lock_age_s > LEFT_BEHIND_S) {
    lines.push(
      warning(
        `the index of git has been locked for ${span(index_lock_age_s * 1000)}: a git that died left its lock there`,
        `If no git runs, remove it: rm ${work_tree ?? "."}/.git/index.lock`,
      ),
    );
  }
  if (lines.length > 0 && waiting?.level !== "ok") return lines;
  if (obstacle !== null && waiting === null) {
    return [...lines, ok(`nothing waits; evidence would wait now, since ${obstacle}`)];
  }
  if (mode === "off") return [...lines, ok("evidence is not committed, as evidence.commit says")];
  const where = mode === "ref" ? "a branch of its own" : `branch ${branch ?? "?"}`;
  return [...lines, ok(`evidence goes to ${where} of ${work_tree ?? "?"}; nothing waits`)];
}
