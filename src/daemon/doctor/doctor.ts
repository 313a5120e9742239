import { isoTime, waitAtMost } from "../../core/clock.ts";
import { packageVersion } from "../../core/program.ts";
import { failureOf } from "./checks/config.ts";
import { failure, type Level, type Line } from "./line.ts";
import { CHECKS, type Check } from "./table.ts";
import { lookAround, type DoctorOptions, type World } from "./world.ts";

/** What `doctor --json` prints. Keys and names of checks stay as they are. */
export interface DoctorReport {
  schema_version: 1;
  /** RFC 3339 */
  at: string;
  version: string;
  /** null where no station was found. */
  station: string | null;
  state_dir: string | null;
  /** Nothing failed: the exit code says the same. */
  ok: boolean;
  counts: Record<Level, number>;
  lines: ({ check: string } & Line)[];
  /** Names of checks that had nothing to look at, since something before them is missing. */
  not_looked_at: string[];
}

/** A dead file server or a stuck program must not keep the rest from being told. */
const LIMIT_MS = 60_000;

/** Lines of one check; whatever goes wrong with it is a line, too. */
async function linesOf(check: Check, world: World, limit_ms: number): Promise<Line[] | null> {
  try {
    const lines = await waitAtMost(Promise.resolve(check.run(world)), limit_ms, world.clock);
    if (lines !== "late") return lines;
    return [
      failure(
        `${check.about}: no answer within ${limit_ms / 1000} s`,
        "Something in the system hangs: a disk, a file server, a program. See its log.",
      ),
    ];
  } catch (error) {
    return [failureOf(error)];
  }
}

/** Looks at everything. Throws for nothing that is wrong with the station or the machine. */
export async function runDoctor(
  options: DoctorOptions,
  checks: readonly Check[] = CHECKS,
  limit_ms = LIMIT_MS,
): Promise<DoctorReport> {
  const world = await lookAround(options);
  const lines: DoctorReport["lines"] = [];
  const not_looked_at: string[] = [];
  for (const check of checks) {
    const found = await linesOf(check, world, limit_ms);
    if (found === null) not_looked_at.push(check.name);
    else {
      for (const { level, text, todo } of found) {
        lines.push({ check: check.name, level, text, todo });
      }
    }
  }
  const count = (level: Level): number => lines.filter((line) => line.level === level).length;
  const counts = { ok: count("ok"), warning: count("warning"), failure: count("failure") };
  return {
    schema_version: 1,
    at: isoTime(options.clock.now_ms()),
    version: packageVersion(),
    station: world.station?.root ?? null,
    state_dir: world.station?.state_dir ?? null,
    ok: counts.failure === 0,
    counts,
    lines,
    not_looked_at,
  };
}
