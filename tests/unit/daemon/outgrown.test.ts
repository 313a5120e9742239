import { expect, test } from "vitest";
import type { Loop } from "../../../src/daemon/loop.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { loopOver, NO_FILES } from "./quiet-loop.ts";

/** A loop over an empty queue; `looks` says what each look at the inbox gives, the last one on. */
function quietLoop(change: { grown?: boolean; next_look_ms?: (look: number) => number | null }) {
  const clock = new FakeClock({ jumpSleeps: true });
  let looks = 0;
  const loop: Loop = loopOver(clock, {
    inbox: {
      async pass() {
        looks += 1;
        if (looks === 10) loop.stop();
        return { ...NO_FILES, next_look_ms: change.next_look_ms?.(looks) ?? null };
      },
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
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
