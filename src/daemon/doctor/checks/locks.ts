import { lockStatus, type LockStatus } from "../../../station/index.ts";
import { counted, ok, warning, type Line } from "../line.ts";

export interface LocksInput {
  model: { path: string; why: string; source: string };
  /** null where there is no station. */
  daemon_path: string | null;
  /** Pid of the daemon that says of itself that it runs. */
  daemon_pid: number | null;
}

function modelLines(status: LockStatus, { path, why, source }: LocksInput["model"]): Line[] {
  const { text, holder, processes, held, mode } = status;
  const lines: Line[] = [];
  if (held && mode === "exclusive" && holder === null && processes.length === 0) {
    lines.push(
      warning(
        `the model lock ${path} is held by a program that cannot be seen from here: nothing is measured meanwhile`,
        `It is another user's, or of another container. As root: fuser -v ${path}`,
      ),
    );
  } else lines.push(ok(`model lock: ${text} (${path})`));
  if (source === "user" && why.includes("may not use")) {
    lines.push(
      warning(
        `the model lock is this user's own: ${why}`,
        "Put this user into the group of the system-wide one, else two users measure at once.",
      ),
    );
  }
  if (mode === "shared") {
    lines.push(ok(`${counted(status.shared.length, "slot is", "slots are")} in use`));
  }
  return lines;
}

/** Who holds the locks. Takes each for no longer than a look; makes nothing. */
export async function lockLines(input: LocksInput): Promise<Line[]> {
  const lines = modelLines(await lockStatus(input.model.path), input.model);
  if (input.daemon_path === null) return lines;
  const daemon = await lockStatus(input.daemon_path);
  if (daemon.held && input.daemon_pid === null) {
    lines.push(
      warning(
        `the station's own lock (${input.daemon_path}) is ${daemon.text}, and it is no daemon that says what it does`,
        "Wait for it: a daemon that begins or ends, or queue rebuild. Where it stays, end that program.",
      ),
    );
  }
  return lines;
}
