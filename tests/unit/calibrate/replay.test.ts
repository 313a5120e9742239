import { expect, test } from "vitest";
import { InFlight } from "../../../src/calibrate/client-meter.ts";
import type { Segment, Turn } from "../../../src/calibrate/device.ts";
import { replay, type ReplayOptions } from "../../../src/calibrate/replay.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { answer, failure } from "./answers.ts";

/** `s1: 2` = segment s1 with turns s1.1 and s1.2. */
function segments(shape: Record<string, number>): Segment[] {
  return Object.entries(shape).map(([id, count]) => ({
    id,
    stratum: "all",
    weight: 1,
    turns: Array.from({ length: count }, (_, at) => ({ id: `${id}.${at + 1}`, segment_id: id })),
  }));
}

interface World {
  sent: string[];
  most: number;
  clock: FakeClock;
  run: (request: ReplayOptions["request"], signal?: AbortSignal) => ReturnType<typeof replay>;
}

/** Turns take as many seconds as `seconds` says [1]; the clock moves when everybody waits. */
function world(seconds: (turn: Turn, round: number) => number = () => 1): World {
  const clock = new FakeClock();
  const in_flight = new InFlight(clock);
  const state: World = { sent: [], most: 0, clock, run: () => Promise.reject(new Error("unset")) };
  let waiting = 0;
  const ask: ReplayOptions["ask"] = async (turn, round, signal) => {
    state.sent.push(`${turn.id}/${round}`);
    waiting += 1;
    state.most = Math.max(state.most, waiting);
    await clock.sleep(seconds(turn, round) * 1000, signal);
    waiting -= 1;
    return signal.aborted ? failure("cancelled") : answer();
  };
  state.run = async (request, signal = new AbortController().signal) => {
    const progress = { over: false };
    const done = replay({ request, ask, signal, in_flight, clock }).finally(
      () => (progress.over = true),
    );
    while (!progress.over) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(500);
    }
    return done;
  };
  return state;
}

test("each worker takes whole segments and sends their turns one after the other", async () => {
  const { run, sent } = world();
  const counted = segments({ a: 3, b: 1, c: 2 });
  const result = await run({ workers: 2, segments: counted, fillers: [] });
  expect(sent).toEqual(["a.1/0", "b.1/0", "a.2/0", "c.1/0", "a.3/0", "c.2/0"]);
  expect(result.turns.map(({ turn }) => turn.id).sort()).toEqual([
    "a.1",
    "a.2",
    "a.3",
    "b.1",
    "c.1",
    "c.2",
  ]);
  expect(result).toMatchObject({ requests: 6, window_s: 3, in_flight: 2 });
});

test("fillers keep all workers busy until the last counted turn ends, and are cut then", async () => {
  const state = world(({ id }) => (id.startsWith("long") ? 7 : 2));
  const { sent } = state;
  const result = await state.run({
    workers: 3,
    segments: segments({ long: 1, short: 1 }),
    fillers: segments({ f: 2, g: 1 }),
  });
  expect(state.most).toBe(3);
  expect(result.turns.map(({ turn }) => turn.id)).toEqual(["short.1", "long.1"]);
  expect(result.window_s).toBe(7);
  expect(result.in_flight).toBeCloseTo(3, 5);
  // Once through the fillers, then again with the round that makes them other prompts.
  expect(sent).toContain("f.1/0");
  expect(sent).toContain("f.1/1");
  expect(result.requests).toBe(sent.length);
});

test("workers that have nothing to do are seen in the mean", async () => {
  const { run } = world(({ id }) => (id === "long.1" ? 8 : 2));
  const result = await run({ workers: 2, segments: segments({ long: 1, b: 1 }), fillers: [] });
  expect(result.in_flight).toBeCloseTo((2 * 2 + 6) / 8, 5);
});

test("who is given up sends no further turn", async () => {
  const stop = new AbortController();
  const clock = new FakeClock();
  const sent: string[] = [];
  const result = await replay({
    request: { workers: 2, segments: segments({ a: 5, b: 5, c: 5 }), fillers: segments({ f: 1 }) },
    async ask(turn) {
      sent.push(turn.id);
      if (sent.length === 3) stop.abort();
      return stop.signal.aborted ? failure("cancelled") : answer();
    },
    signal: stop.signal,
    in_flight: new InFlight(clock),
    clock,
  });
  expect(sent.length).toBeLessThanOrEqual(4);
  expect(result.turns.length).toBe(sent.length);
});

test("a server that refuses fillers at once is not asked for ever", async () => {
  const clock = new FakeClock();
  const held = Promise.withResolvers<void>();
  let fillers = 0;
  const done = replay({
    request: { workers: 2, segments: segments({ a: 1 }), fillers: segments({ f: 1 }) },
    async ask({ id }) {
      if (id === "a.1") await held.promise;
      else fillers += 1;
      return id === "a.1" ? answer() : failure("unreachable");
    },
    signal: new AbortController().signal,
    in_flight: new InFlight(clock),
    clock,
  });
  for (let look = 0; look < 50; look += 1) await new Promise((resolve) => setImmediate(resolve));
  held.resolve();
  const result = await done;
  expect(fillers).toBe(3);
  expect(result.requests).toBe(4);
});

test("nothing to send ends at once", async () => {
  const { run } = world();
  const result = await run({ workers: 2, segments: [], fillers: segments({ f: 1 }) });
  expect(result).toMatchObject({ turns: [], window_s: 0, requests: 0 });
});
