import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { Lazy } from "../../../src/core/lazy.ts";
import { openBase } from "../../../src/daemon/base.ts";
import { QueueWindow } from "../../../src/daemon/queue-window.ts";
import { openSchedule } from "../../../src/daemon/schedule-open.ts";
import { scheduledInbox } from "../../../src/daemon/scheduled-inbox.ts";
import { windowOpening } from "../../../src/daemon/timed.ts";
import { openStation } from "../../../src/station/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { testStation } from "../../helpers/station.ts";
import { NO_FILES } from "./quiet-loop.ts";

const MINUTE = 60_000;
/** Local time, as patterns are. */
const NOON = new Date(2026, 2, 10, 12).getTime();

async function stationWith(policy: string) {
  const { root, env } = testStation({ policy });
  const clock = new FakeClock({ wall_ms: NOON });
  const station = await openStation({ env, cwd: root });
  const base = openBase(station, clock, env);
  const warned: string[] = [];
  const report = { say: () => undefined, warn: (text: string) => warned.push(text) };
  const store = { submissions: async () => [] };
  const schedule = openSchedule(base, store, report);
  const look = async (ms: number) => {
    clock.advance(ms);
    return schedule.look(station.settings.schedule);
  };
  const inbox = () => (existsSync(base.inbox) ? readdirSync(base.inbox) : []);
  return { root, base, clock, look, inbox, warned, station };
}

function write(path: string, mode = 0o600): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, "entries: []\n", { mode });
  chmodSync(path, mode);
}

const POLICY =
  "inbox: {min_age_seconds: 0}\nschedule:\n  - {name: nightly, at: 5 12 * * *, file: queues/night.yaml}\n";

test("a file of the station is dropped, also where there is no inbox yet", async () => {
  const { root, look, inbox, warned } = await stationWith(POLICY);
  write(join(root, "queues", "night.yaml"));
  await look(0);
  await look(5 * MINUTE);
  expect([inbox(), warned]).toEqual([["nightly.yaml"], []]);
});

test("a link that leads out of the station is refused and named", async () => {
  const { root, look, inbox, warned } = await stationWith(POLICY);
  write(join(dirname(root), "elsewhere", "night.yaml"));
  symlinkSync(join(dirname(root), "elsewhere"), join(root, "queues"));
  await look(0);
  await look(5 * MINUTE);
  expect(inbox()).toEqual([]);
  expect(warned).toEqual([expect.stringContaining('queues/night.yaml" is a link that leads out')]);
});

test.each([
  ["the file", "night.yaml"],
  ["its directory", "."],
])(
  "where others may write %s, nothing is dropped, and the chmod is named",
  async (_what, which) => {
    const { root, look, inbox, warned } = await stationWith(POLICY);
    const file = join(root, "queues", "night.yaml");
    write(file);
    chmodSync(join(root, "queues", which), which === "." ? 0o777 : 0o666);
    await look(0);
    await look(5 * MINUTE);
    expect(inbox()).toEqual([]);
    expect(warned).toEqual([expect.stringContaining("run: chmod go-w")]);
  },
);

test("the window of the policy, and none", async () => {
  const { base, clock, station } = await stationWith('queue: {window: "* 18-23 * * *"}\n');
  const opensAt = windowOpening(base);
  const evening = new Date(2026, 2, 10, 18).getTime();
  expect(await opensAt()).toBe(evening);
  clock.advance(7 * 60 * MINUTE);
  expect(await opensAt()).toBe(clock.now_ms());
  station.settings.queue = {};
  expect(await opensAt()).toBeNull();
  expect(new QueueWindow().opensAt("no pattern", NOON)).toBeNull();
});

function inboxOver(look: () => Promise<{ views: never[]; next_ms: number | null }>) {
  const clock = new FakeClock();
  const state = {
    entries: [{ name: "a", at: "* * * * *", file: "a.yaml", catch_up_hours: 1 }],
    fault: null as string | null,
    next_look_ms: null as number | null,
    looks: 0,
    warned: [] as string[],
  };
  const inbox = scheduledInbox({
    inbox: {
      pass: async () => ({ ...NO_FILES, next_look_ms: state.next_look_ms }),
      finishEnded: async () => ({ placed: [], troubles: [] }),
    },
    entries: () => state.entries,
    schedule: new Lazy(async () => ({
      look: async () => {
        state.looks += 1;
        return look();
      },
    })),
    fault: () => state.fault,
    clock,
    report: { warn: (text) => state.warned.push(text), schedule: () => undefined },
  });
  const pass = async () => (await inbox.pass(new AbortController().signal)).next_look_ms;
  return { clock, state, pass };
}

test("the inbox is looked at again when something is due, or a file falls ripe before", async () => {
  const { clock, state, pass } = inboxOver(async () => ({
    views: [],
    next_ms: clock.now_ms() + 7000,
  }));
  clock.advance(500);
  expect(await pass()).toBe(7500);
  state.next_look_ms = 3000;
  expect(await pass()).toBe(3000);
  state.entries = [];
  expect([await pass(), state.looks]).toEqual([3000, 2]);
});

test("nothing is dropped while nothing new may begin", async () => {
  const { state, pass } = inboxOver(async () => ({ views: [], next_ms: null }));
  state.fault = "the configuration has faults";
  expect([await pass(), state.looks]).toEqual([null, 0]);
});

test("a schedule that fails keeps no file from being taken up, and is said once", async () => {
  const { state, pass } = inboxOver(async () => Promise.reject(new Error("ENOSPC: full")));
  state.next_look_ms = 10;
  expect([await pass(), await pass()]).toEqual([10, 10]);
  expect(state.warned).toEqual(["the schedule stands still: ENOSPC: full"]);
});
