import { silentLog } from "../../../src/core/log.ts";
import { Loop, type LoopDeps } from "../../../src/daemon/loop.ts";
import type { Store } from "../../../src/store/index.ts";
import type { FakeClock } from "../../helpers/fake-clock.ts";

const ignore = (): void => undefined;

export const QUIET_REPORT: LoopDeps["report"] = {
  warn: ignore,
  say: ignore,
  state: ignore,
  inboxBlocked: ignore,
  jobStarts: ignore,
  fileStuck: ignore,
  jobEnds: ignore,
  window: ignore,
};

/** What a look at an inbox without files gives. */
export const NO_FILES = {
  blocked: null,
  outcomes: [],
  waiting: 0,
  not_looked_at: 0,
  next_look_ms: null,
  warnings: [],
};

/** A loop over an empty queue and an empty inbox, but for `change`. */
export function loopOver(clock: FakeClock, change: Partial<LoopDeps> = {}): Loop {
  return new Loop({
    store: {
      failDependants: async () => [],
      submissions: async () => [],
      nextDue: async () => null,
    } as unknown as Store,
    inbox: {
      pass: async () => NO_FILES,
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
    idle: {
      look: async () => ({ task: null, look_at_ms: null }),
      giveWay: ignore,
      jobEnded: ignore,
    },
    summaries: { sync: async () => undefined, ids: () => [] },
    report: QUIET_REPORT,
    clock,
    log: silentLog(),
    owner_id: "host",
    runners: [],
    memory_mb: null,
    random: () => 1,
    uptime_ms: () => null,
    refresh: async () => undefined,
    barred: () => null,
    opensAt: async () => null,
    pulse: undefined,
    takeLock: async () => ({ path: "", release: ignore }),
    jobRun: () => {
      throw new Error("there is no job");
    },
    reap: async () => undefined,
    grown: () => false,
    ...change,
  });
}

/** Lets everybody do what there is to do now. */
export async function settle(): Promise<void> {
  for (let n = 0; n < 3; n += 1) await new Promise((resolve) => setImmediate(resolve));
}
