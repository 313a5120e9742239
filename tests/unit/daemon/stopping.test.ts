import { expect, test } from "vitest";
import { stopper } from "../../../src/daemon/stopping.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { settle } from "./quiet-loop.ts";

function stopping(stop_within_s: number | null) {
  const clock = new FakeClock();
  const said: string[] = [];
  let stops = 0;
  const [soft, hard, over] = [new AbortController(), new AbortController(), new AbortController()];
  const stop = stopper({
    loop: { stop: () => (stops += 1) },
    report: { say: (text) => said.push(text) },
    clock,
    stop_within_s,
    soft,
    hard,
    over: over.signal,
  });
  const state = () => ({ soft: soft.signal.aborted, hard: hard.signal.aborted, stops, said });
  return { stop, clock, over, state };
}

test("the first lets the step end, the second ends it, a third says nothing new", () => {
  const { stop, state } = stopping(null);
  stop();
  expect(state()).toEqual({ soft: true, hard: false, stops: 1, said: ["stopping"] });
  stop();
  stop();
  const said = ["stopping", "ending the running step"];
  expect(state()).toEqual({ soft: true, hard: true, stops: 2, said });
});

test("without a grace the step has all the time it takes", async () => {
  const { stop, state, clock } = stopping(null);
  stop();
  clock.advance(10 * 3_600_000);
  await settle();
  expect(state().hard).toBe(false);
});

test("with one it is ended in time, so that nobody kills the daemon over it", async () => {
  const { stop, state, clock } = stopping(120);
  stop();
  clock.advance(119_000);
  await settle();
  expect(state().hard).toBe(false);
  clock.advance(1000);
  await settle();
  expect(state()).toMatchObject({ hard: true, stops: 2 });
});

test("a daemon that has ended meanwhile is left alone", async () => {
  const { stop, state, over, clock } = stopping(120);
  stop();
  over.abort();
  clock.advance(120_000);
  await settle();
  expect(state()).toMatchObject({ hard: false, stops: 1 });
});
