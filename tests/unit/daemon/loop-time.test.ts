import { expect, test } from "vitest";
import { silentLog } from "../../../src/core/log.ts";
import type { LoopDeps } from "../../../src/daemon/loop.ts";
import { heartbeat } from "../../../src/daemon/owner.ts";
import type { Pulse } from "../../../src/daemon/pulse.ts";
import type { Store } from "../../../src/store/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { loopOver, NO_FILES, QUIET_REPORT, settle } from "./quiet-loop.ts";

const MINUTE = 60_000;

/** Counts what it hears, by kind and with the time. */
function listener(clock: FakeClock, longest_ms: number) {
  const heard: { what: keyof Pulse; at_ms: number }[] = [];
  const hear = (what: keyof Pulse) => (): void => {
    heard.push({ what, at_ms: clock.monotonic_ms() });
  };
  const pulse = {
    longest_ms,
    alive: hear("alive"),
    round: hear("round"),
    stopping: hear("stopping"),
  };
  return { pulse, heard };
}

async function advance(clock: FakeClock, ms: number, by_ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += by_ms) {
    clock.advance(by_ms);
    await settle();
  }
}

test("a waiting loop is heard at least as often as it is asked to", async () => {
  const clock = new FakeClock();
  const { pulse, heard } = listener(clock, 10_000);
  const loop = loopOver(clock, { pulse });
  const done = loop.run(null);
  await settle();
  await advance(clock, 5 * MINUTE, 5000);
  const times = heard.map(({ at_ms }) => at_ms);
  const silences = times.slice(1).map((at_ms, n) => at_ms - (times[n] ?? 0));
  expect(Math.max(...silences)).toBe(10_000);
  expect(heard.filter(({ what }) => what === "round").length).toBe(6);
  loop.stop();
  await done;
  expect(heard.some(({ what }) => what === "stopping")).toBe(true);
});

test("a loop that hangs in what it does falls silent, whatever runs beside it", async () => {
  const clock = new FakeClock();
  const { pulse, heard } = listener(clock, 10_000);
  let looks = 0;
  const pass = async () => {
    looks += 1;
    return looks < 3 ? NO_FILES : new Promise<never>(() => {});
  };
  const inbox = { pass, finishEnded: async () => ({ placed: [], troubles: [] }) };
  const loop = loopOver(clock, { pulse, inbox });
  void loop.run(null);
  await settle();
  await advance(clock, 2 * MINUTE, 5000);
  const before = heard.length;
  await advance(clock, 60 * MINUTE, MINUTE);
  expect([looks, heard.length]).toEqual([3, before]);
});

test("heartbeats go on while a file is being parsed, however long that takes", async () => {
  const clock = new FakeClock();
  const beats: number[] = [];
  const over = new AbortController();
  const store = {
    async beat(_id: string, now_ms: number) {
      beats.push(now_ms);
      return { ok: true as const };
    },
    reap: async () => ({ owners: [], interrupted: [], failed: [] }),
    register: async () => ({ ok: true as const }),
  } as unknown as Store;
  const owner = { id: "box", host: "box", identity: { pid: 1, start_token: "1", boot_id: "1" } };
  const beating = heartbeat({
    store,
    owner,
    clock,
    log: silentLog(),
    signal: over.signal,
    onReaped: () => undefined,
  });
  const pass = async () => new Promise<never>(() => {});
  const inbox = { pass, finishEnded: async () => ({ placed: [], troubles: [] }) };
  void loopOver(clock, { store, inbox }).run(null);
  await settle();
  await advance(clock, 10 * MINUTE, 10_000);
  expect(beats).toHaveLength(10);
  over.abort();
  await beating;
});

/** A store with one job that is due since ever; claims are counted. */
function oneJob(clock: FakeClock) {
  const claims: number[] = [];
  const store = {
    failDependants: async () => [],
    submissions: async () => [],
    nextDue: async () => (claims.length === 0 ? 0 : null),
    async claim() {
      claims.push(clock.now_ms());
      return undefined;
    },
  } as unknown as Store;
  return { store, claims };
}

test("a job that is due waits for the window, to the second", async () => {
  const clock = new FakeClock();
  const opens_ms = clock.now_ms() + 90 * MINUTE;
  const { store, claims } = oneJob(clock);
  const windows: (number | null)[] = [];
  const report = { ...QUIET_REPORT, window: (at_ms: number | null) => windows.push(at_ms) };
  const loop = loopOver(clock, {
    store,
    report,
    opensAt: async () => Math.max(opens_ms, clock.now_ms()),
  });
  const done = loop.run(null);
  await settle();
  await advance(clock, 90 * MINUTE - 1000, 1000);
  expect(claims).toEqual([]);
  await advance(clock, 2000, 1000);
  expect(claims).toEqual([opens_ms]);
  expect(new Set(windows.slice(0, -2))).toEqual(new Set([opens_ms]));
  loop.stop();
  await done;
});

test.each([
  ["set forward over the opening", 95 * MINUTE, true],
  ["set back", -95 * MINUTE, false],
])("a clock that is %s is noticed within a minute", async (_what, step_ms, claimed) => {
  const clock = new FakeClock();
  const opens_ms = clock.now_ms() + 90 * MINUTE;
  const { store, claims } = oneJob(clock);
  const opensAt = async () => Math.max(opens_ms, clock.now_ms());
  const loop = loopOver(clock, { store, opensAt });
  const done = loop.run(null);
  await settle();
  clock.stepWall(step_ms);
  await advance(clock, MINUTE, 1000);
  expect(claims.length > 0).toBe(claimed);
  // Set back, the evening comes later, and it comes.
  await advance(clock, 190 * MINUTE, 30_000);
  expect(claims.length).toBe(1);
  loop.stop();
  await done;
});

/** What a loop says while `happens` befalls its machine in the middle of a wait or of a look. */
async function saidWhile(
  happens: (clock: FakeClock, slept: (ms: number) => void) => void,
  during: "wait" | "look",
): Promise<{ said: string[]; reaped: number }> {
  const clock = new FakeClock();
  const said: string[] = [];
  let [asleep_ms, reaped, looks] = [0, 0, 0];
  const strike = (): void => happens(clock, (ms) => (asleep_ms += ms));
  const deps: Partial<LoopDeps> = {
    report: { ...QUIET_REPORT, say: (text) => said.push(text) },
    uptime_ms: () => clock.monotonic_ms() + asleep_ms,
    async reap() {
      reaped += 1;
    },
    inbox: {
      async pass() {
        looks += 1;
        if (during === "look" && looks === 2) strike();
        return NO_FILES;
      },
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
  };
  const loop = loopOver(clock, deps);
  const done = loop.run(null);
  await settle();
  if (during === "wait") strike();
  await advance(clock, 3 * MINUTE, 10_000);
  loop.stop();
  await done;
  return { said, reaped };
}

test.each(["wait", "look"] as const)(
  "what befalls the clocks in a %s is told apart",
  async (during) => {
    const night = await saidWhile((clock, slept) => {
      slept(7 * 60 * MINUTE);
      clock.stepWall(7 * 60 * MINUTE);
    }, during);
    // Before it takes others for dead it says that it lives.
    expect(night).toEqual({ said: ["slept about 7 h"], reaped: 1 });
    const forward = await saidWhile((clock) => clock.stepWall(60 * MINUTE), during);
    expect(forward.said).toEqual(["clock set forward by about 60 min"]);
    const back = await saidWhile((clock) => clock.stepWall(-60 * MINUTE), during);
    expect(back.said).toEqual(["clock set back by about 60 min"]);
  },
);

test("timers that stood still while the clocks went on are told apart from a sleep", async () => {
  const { said } = await saidWhile((clock) => clock.advance(6 * MINUTE), "wait");
  expect(said).toEqual(["stood still for about 5 min"]);
});
