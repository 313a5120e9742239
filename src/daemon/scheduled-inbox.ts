import type { Clock } from "../core/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { Lazy } from "../core/lazy.ts";
import type { Inbox, PassReport } from "../intake/resident.ts";
import type { Scheduled } from "../station/resident.ts";
import type { Report } from "./report.ts";
import type { Schedule } from "./schedule.ts";

export interface ScheduledInboxOptions {
  inbox: Pick<Inbox, "pass" | "finishEnded">;
  /** What is scheduled now. */
  entries: () => readonly Scheduled[];
  schedule: Pick<Lazy<Pick<Schedule, "look">>, "get">;
  /** Why nothing may be dropped; null where it may. */
  fault: () => string | null;
  clock: Clock;
  report: Pick<Report, "warn" | "schedule">;
}

/** An inbox into which the schedule drops what is due before each look, and which tells when to look for it. */
export function scheduledInbox(
  options: ScheduledInboxOptions,
): Pick<Inbox, "pass" | "finishEnded"> {
  const { inbox, entries, schedule, fault, clock, report } = options;
  let trouble: string | null = null;
  const look = async (): Promise<number | null> => {
    const scheduled = entries();
    if (scheduled.length === 0) {
      report.schedule([]);
      return null;
    }
    if (fault() !== null) return null;
    try {
      const { views, next_ms } = await (await schedule.get()).look(scheduled);
      report.schedule(views);
      trouble = null;
      return next_ms;
    } catch (error) {
      const text = `the schedule stands still: ${errorMessage(error)}`;
      if (text !== trouble) report.warn(text);
      trouble = text;
      return null;
    }
  };
  const nextLook = (pass: PassReport, next_ms: number | null): number | null => {
    if (next_ms === null) return pass.next_look_ms;
    const at_ms = clock.monotonic_ms() + next_ms - clock.now_ms();
    return Math.min(pass.next_look_ms ?? Infinity, at_ms);
  };
  return {
    async pass(signal) {
      const next_ms = await look();
      const pass = await inbox.pass(signal);
      return { ...pass, next_look_ms: nextLook(pass, next_ms) };
    },
    finishEnded: () => inbox.finishEnded(),
  };
}
