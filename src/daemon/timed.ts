import { Lazy } from "../core/lazy.ts";
import type { Inbox } from "../intake/resident.ts";
import type { Store } from "../store/index.ts";
import type { Base } from "./base.ts";
import type { Report } from "./report.ts";
import { scheduledInbox } from "./scheduled-inbox.ts";

export interface TimedOptions {
  base: Base;
  store: Pick<Store, "submissions">;
  report: Report;
  /** Why nothing new may begin; null where it may. */
  fault: () => string | null;
}

/** The inbox as the loop sees it, with what `schedule:` drops into it. */
export function timedInbox(
  { base, store, report, fault }: TimedOptions,
  inbox: Inbox,
): Pick<Inbox, "pass" | "finishEnded"> {
  return scheduledInbox({
    inbox,
    entries: () => base.station.settings.schedule,
    schedule: new Lazy(async () => {
      const { openSchedule } = await import("./schedule-open.ts");
      return openSchedule(base, store, report);
    }),
    fault,
    clock: base.clock,
    report,
  });
}

/** When `queue.window` lets jobs start, wall clock; null where there is none. */
export function windowOpening({ station, clock }: Base): () => Promise<number | null> {
  const window = new Lazy(async () => {
    const { QueueWindow } = await import("./queue-window.ts");
    return new QueueWindow();
  });
  return async () => {
    const { window: pattern } = station.settings.queue;
    if (pattern === undefined) return null;
    return (await window.get()).opensAt(pattern, clock.now_ms());
  };
}
