import { expect, test } from "vitest";
import { InFlight } from "../../../src/calibrate/client-meter.ts";
import { nothingHeld, Watch, type WatchOptions } from "../../../src/calibrate/watch.ts";
import type { LoadedModels } from "../../../src/runners/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

const holds = (...models: string[]): LoadedModels => ({ models, reason: null });
const UNREADABLE: LoadedModels = { models: null, reason: "HTTP 500: oops" };
const ABSENT: LoadedModels = { models: null, reason: "connection refused", absent: true };

const neighbour = (...looks: LoadedModels[]) => ({
  name: "house",
  loaded: async () => (looks.length > 1 ? looks.shift() : looks[0]) ?? holds(),
});

test("nobody there and nothing held are alone; one that cannot be read is not", async () => {
  expect(await nothingHeld([])).toEqual({ alone: true, reason: null });
  expect(await nothingHeld([neighbour(ABSENT), neighbour(holds())])).toMatchObject({ alone: true });
  expect(await nothingHeld([neighbour(holds("llama3"))])).toEqual({
    alone: false,
    reason: 'runner "house" holds llama3',
  });
  expect(await nothingHeld([neighbour(UNREADABLE)])).toEqual({
    alone: null,
    reason: 'what runner "house" holds cannot be read: HTTP 500: oops',
  });
  // What is known to be there counts more than what cannot be told.
  expect(await nothingHeld([neighbour(UNREADABLE), neighbour(holds("x"))])).toMatchObject({
    alone: false,
  });
});

test("one answer that does not come is asked for again", async () => {
  const slow = neighbour(UNREADABLE, UNREADABLE, holds());
  expect(await nothingHeld([slow])).toMatchObject({ alone: true });
});

interface Looks {
  options: Partial<WatchOptions>;
  /** Requests of ours in flight. */
  ours: number;
  /** What happens before each look of the loop. */
  during?: (look: number, in_flight: InFlight) => void;
  looks?: number;
}

async function watched({ options, ours, during, looks = 6 }: Looks) {
  const clock = new FakeClock();
  const in_flight = new InFlight(clock);
  for (let request = 0; request < ours; request += 1) in_flight.change(1);
  const watch = new Watch({
    neighbours: [],
    own: null,
    isOurs: (model) => model === "mine",
    busySlots: null,
    in_flight,
    workers: ours,
    clock,
    ...options,
  });
  await watch.start();
  for (let look = 0; look < looks; look += 1) {
    during?.(look, in_flight);
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return watch.stop();
}

test("a model that another client loads in mid-period is seen, also when it is gone at the end", async () => {
  let now = holds("mine");
  const result = await watched({
    ours: 1,
    options: { own: async () => now },
    during: (look) => (now = look === 2 ? holds("mine", "other") : holds("mine")),
  });
  expect(result).toMatchObject({ alone: false, reason: "another client loaded other" });
});

test("a neighbour that loads in mid-period is seen, a measured runner that hides is not alone", async () => {
  let now = holds();
  const busy = await watched({
    ours: 1,
    options: { neighbours: [{ name: "house", loaded: async () => now }] },
    during: (look) => (now = look === 3 ? holds("big") : holds()),
  });
  expect(busy).toMatchObject({ alone: false, reason: 'runner "house" holds big' });
  const hidden = await watched({ ours: 1, options: { own: async () => UNREADABLE } });
  expect(hidden.alone).toBeNull();
  expect(hidden.reason).toContain("cannot be read");
});

test("more slots at work than requests of ours are another client's", async () => {
  const foreign = await watched({ ours: 1, options: { busySlots: async () => 2 } });
  expect(foreign).toMatchObject({ alone: false });
  expect(foreign.reason).toContain("2 slots were at work with 1 requests of ours");
});

test("one look may catch a slot that is just being given back", async () => {
  let looks = 0;
  const options = { busySlots: async () => ((looks += 1) === 2 ? 2 : 1) };
  expect(await watched({ ours: 1, options })).toMatchObject({ alone: true, reason: null });
});

test("a server that says nothing of its slots says nothing", async () => {
  const result = await watched({ ours: 2, options: { busySlots: async () => null } });
  expect(result).toEqual({ alone: true, reason: null, busy_slots: null });
});

test("slots that never work are counted while all our requests wait, and only then", async () => {
  const options = { busySlots: async () => 1, workers: 4 };
  expect(await watched({ ours: 4, options })).toMatchObject({ busy_slots: 1 });
  expect(await watched({ ours: 3, options })).toMatchObject({ busy_slots: null });
  expect(await watched({ ours: 4, options, looks: 2 })).toMatchObject({ busy_slots: null });
  // Requests that come and go between two looks prove nothing.
  const restless = await watched({
    ours: 4,
    options: { ...options, interval_ms: 1000, settled_ms: 2000 },
    during: (_, in_flight) => {
      in_flight.change(-1);
      in_flight.change(1);
    },
  });
  expect(restless).toMatchObject({ alone: true, busy_slots: null });
});
