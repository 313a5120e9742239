import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import { Loop, type LoopDeps } from "../../../src/daemon/loop.ts";
import type { Store } from "../../../src/store/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

/** A loop over an empty queue; `looks` says what each look at the inbox gives, the last one on. */
function quietLoop(change: { grown?: boolean; next_look_ms?: (look: number) => number | null }) {
  const clock = new FakeClock({ jumpSleeps: true });
  let looks = 0;
  const ignore = (): void => undefined;
  const loop: Loop = new Loop({
    store: {
      failDependants: async () => [],
      submissions: async () => [],
      nextDue: async () => null,
    } as unknown as Store,
    inbox: {
      async pass() {
        looks += 1;
        if (looks === 10) loop.stop();
        const next_look_ms = change.next_look_ms?.(looks) ?? null;
        return {
          blocked: null,
          outcomes: [],
          waiting: 0,
          not_looked_at: 0,
          next_look_ms,
          warnings: [],
        };
      },
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
    idle: {
      look: async () => ({ task: null, look_at_ms: null }),
      giveWay: ignore,
      jobEnded: ignore,
    },
    summaries: { sync: async () => undefined, ids: () => [] },
    report: {
      warn: ignore,
      say: ignore,
      state: ignore,
      inboxBlocked: ignore,
      jobStarts: ignore,
      fileStuck: ignore,
      jobEnds: ignore,
    } satisfies LoopDeps["report"],
    clock,
    log: silentLog(),
    owner_id: "host",
    runners: [],
    memory_mb: null,
    random: () => 1,
    uptime_ms: () => null,
    refresh: async () => undefined,
    diskLow: () => null,
    takeLock: async () => ({ path: "", release: ignore }),
    jobRun: () => {
      throw new Error("there is no job");
    },
    reap: async () => undefined,
    grown: () => change.grown ?? true,
  });
  return { loop, clock, looks: () => looks };
}

test("a daemon that has grown starts anew when nothing was in sight for a minute", async () => {
  const { loop, clock, looks } = quietLoop({});
  const started_ms = clock.monotonic_ms();
  expect(await loop.run(null)).toBe("outgrown");
  expect([looks(), clock.monotonic_ms() - started_ms]).toEqual([2, 60_000]);
});

test("one that has not grown, or for which a file ripens, goes on", async () => {
  const small = quietLoop({ grown: false });
  expect([await small.loop.run(null), small.looks()]).toEqual(["stopped", 10]);
  const busy: ReturnType<typeof quietLoop> = quietLoop({
    next_look_ms: () => busy.clock.monotonic_ms() + 30_000,
  });
  expect([await busy.loop.run(null), busy.looks()]).toEqual(["stopped", 10]);
});

test("a file that comes in between begins the minute anew", async () => {
  const one: ReturnType<typeof quietLoop> = quietLoop({
    next_look_ms: (look) => (look === 2 ? one.clock.monotonic_ms() + 5000 : null),
  });
  expect([await one.loop.run(null), one.looks()]).toEqual(["outgrown", 4]);
});
