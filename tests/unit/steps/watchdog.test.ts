import { describe, expect, test } from "vitest";
import type { TreeExit } from "../../../src/core/process.ts";
import { watch, type WatchOptions } from "../../../src/steps/watchdog.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

const EXIT_0: TreeExit = { exit_code: 0, signal: null, spawn_error: null };

/** A tree that ends when told to, or outlives everything. */
function fakeTree(options: { survivors?: number[]; left_over?: number[] } = {}) {
  let exit = (_exit: TreeExit): void => {};
  const exited = new Promise<TreeExit>((resolve) => {
    exit = resolve;
  });
  const ends: number[] = [];
  return {
    exit: (result = EXIT_0) => exit(result),
    ends,
    tree: {
      pid: 1,
      exited,
      members: () => options.left_over ?? [],
      async end(grace_s: number) {
        ends.push(grace_s);
        if (options.survivors !== undefined) return options.survivors;
        exit({ exit_code: null, signal: "SIGTERM", spawn_error: null });
        return [];
      },
    },
  };
}

/** Moves the clock second by second; `each` is called before each one. */
async function pass(clock: FakeClock, seconds: number, each: (second: number) => void = () => {}) {
  for (let second = 1; second <= seconds; second += 1) {
    each(second);
    clock.advance(1000);
    // The watchdog wakes in promises: let them run before the next second.
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

function begin(clock: FakeClock, change: Partial<WatchOptions> = {}, tree = fakeTree()) {
  const state = { life: 0, done: false };
  const result = watch({
    tree: tree.tree,
    hard_limit_s: 100,
    silence_limit_s: 10,
    life: () => state.life,
    clock,
    ...change,
  }).finally(() => (state.done = true));
  return { state, result, tree };
}

test("a step that ends by itself", async () => {
  const clock = new FakeClock();
  const { result, tree } = begin(clock);
  await pass(clock, 3);
  tree.exit();
  expect(await result).toEqual({
    end: "exited",
    exit: EXIT_0,
    survivors: [],
    running_s: 3,
    gaps: 0,
  });
  expect(tree.ends).toEqual([]);
});

test("what a step leaves behind is ended", async () => {
  const clock = new FakeClock();
  const { result, tree } = begin(clock, {}, fakeTree({ left_over: [7] }));
  tree.exit();
  expect((await result).end).toBe("exited");
  expect(tree.ends).toEqual([10]);
});

test("silence ends it; growth starts the count anew", async () => {
  const clock = new FakeClock();
  const { state, result, tree } = begin(clock);
  await pass(clock, 25, (second) => {
    if (second === 9 || second === 18) state.life += 1;
  });
  expect(state.done).toBe(false);
  await pass(clock, 3);
  expect(await result).toMatchObject({ end: "stalled", running_s: 28 });
  expect(tree.ends).toEqual([10]);
});

test("a busy step ends at the hard limit", async () => {
  const clock = new FakeClock();
  const { state, result } = begin(clock);
  await pass(clock, 100, () => (state.life += 1));
  expect(await result).toMatchObject({ end: "timeout", running_s: 100 });
});

test("a load may be silent up to the hard limit", async () => {
  const clock = new FakeClock();
  const { state, result } = begin(clock, { silence_limit_s: null });
  await pass(clock, 99);
  expect(state.done).toBe(false);
  await pass(clock, 1);
  expect((await result).end).toBe("timeout");
});

test("who outlives SIGKILL is reported and does not hold up the night", async () => {
  const clock = new FakeClock();
  const { result } = begin(clock, {}, fakeTree({ survivors: [42] }));
  await pass(clock, 10);
  expect(await result).toMatchObject({ end: "stalled", survivors: [42], exit: null });
});

test("the user's stop ends it at once", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const { result, tree } = begin(clock, { signal: stop.signal });
  await pass(clock, 2);
  stop.abort();
  expect(await result).toMatchObject({ end: "interrupted", exit: { signal: "SIGTERM" } });
  expect(tree.ends).toEqual([10]);
});

describe("a machine that slept is no silent step", () => {
  test("where the monotonic clock stands still meanwhile", async () => {
    const clock = new FakeClock();
    const { state, result, tree } = begin(clock);
    await pass(clock, 9);
    clock.stepWall(8 * 3600 * 1000);
    await pass(clock, 9);
    expect(state.done).toBe(false);
    tree.exit();
    expect(await result).toMatchObject({ end: "exited", gaps: 1, running_s: 18 });
  });

  test("where the monotonic clock runs on", async () => {
    const clock = new FakeClock();
    const { state, result, tree } = begin(clock);
    await pass(clock, 5);
    clock.advance(8 * 3600 * 1000);
    await pass(clock, 9);
    expect(state.done).toBe(false);
    tree.exit();
    const { gaps, running_s } = await result;
    expect(gaps).toBe(1);
    expect(running_s).toBeLessThan(16);
  });

  test("but it is silent if it stays so after waking", async () => {
    const clock = new FakeClock();
    const { result } = begin(clock);
    await pass(clock, 5);
    clock.stepWall(3_600_000);
    await pass(clock, 12);
    expect(await result).toMatchObject({ end: "stalled", gaps: 1 });
  });

  test("a wall clock set back, or by seconds, is no sleep", async () => {
    const clock = new FakeClock();
    const { result } = begin(clock);
    await pass(clock, 5);
    clock.stepWall(-3_600_000);
    await pass(clock, 2);
    clock.stepWall(5000);
    await pass(clock, 3);
    expect(await result).toMatchObject({ end: "stalled", gaps: 0, running_s: 10 });
  });
});
