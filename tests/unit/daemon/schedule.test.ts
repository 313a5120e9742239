import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { INBOX, queueText } from "../intake/world.ts";
import { Evening, FILE, HOUR, NIGHTLY } from "./schedule-setting.ts";

const MINUTE = 60_000;
let zone: string | undefined;

beforeAll(() => {
  zone = process.env["TZ"];
  process.env["TZ"] = "UTC";
});

afterAll(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

function at(text: string): number {
  return Date.parse(text);
}

test("a file is dropped at its time, once, and again the next day", async () => {
  const evening = new Evening();
  const first = await evening.look();
  expect(first).toEqual({
    views: [{ name: "nightly", next: "2026-03-10T22:00:00.000Z", trouble: null }],
    next_ms: at("2026-03-10T22:00:00Z"),
  });
  await evening.after(2 * HOUR - 1);
  expect(evening.inbox()).toEqual([]);
  const { next_ms } = await evening.after(1);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
  expect(next_ms).toBe(at("2026-03-11T22:00:00Z"));
  expect(evening.said).toEqual([
    "schedule nightly: queues/nightly.yaml was dropped into the inbox as nightly.yaml",
  ]);
  evening.takeAway();
  for (let n = 0; n < 23; n += 1) await evening.after(HOUR);
  expect(evening.inbox()).toEqual([]);
  await evening.after(HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
  expect(evening.world.disk.lstat(`${INBOX}/nightly.yaml`)).toMatchObject({
    mode: 0o600,
    nlink: 1,
  });
  expect(evening.warned).toEqual([]);
});

test("a new entry has no past, and neither has one whose pattern was changed", async () => {
  const evening = new Evening();
  await evening.after(4 * HOUR);
  expect(evening.inbox()).toEqual([]);
  await evening.after(HOUR, [{ ...NIGHTLY, at: "0 23 * * *" }]);
  expect(evening.inbox()).toEqual([]);
  await evening.after(21 * HOUR, [{ ...NIGHTLY, at: "0 23 * * *" }]);
  await evening.after(HOUR, [{ ...NIGHTLY, at: "0 23 * * *" }]);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
});

test("one that was taken out and comes back has no past either", async () => {
  const evening = new Evening();
  await evening.look();
  await evening.after(HOUR, []);
  await evening.after(3 * HOUR);
  expect(evening.inbox()).toEqual([]);
});

test("a time that was missed is caught up once, after a restart too, and said", async () => {
  const evening = new Evening();
  await evening.look();
  evening.world.clock.advance(10 * HOUR);
  evening.restart();
  await evening.look();
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
  expect(evening.said[0]).toContain("caught up for 2026-03-10T22:00:00.000Z");
  evening.takeAway();
  evening.restart();
  await evening.after(MINUTE);
  expect(evening.inbox()).toEqual([]);
});

test("of many times that were missed, one is caught up; older ones than the bound are given up", async () => {
  const evening = new Evening();
  const often = { ...NIGHTLY, at: "*/10 * * * *", catch_up_hours: 1 };
  await evening.look([often]);
  await evening.after(100 * HOUR, [often]);
  expect([evening.inbox(), evening.warned]).toEqual([["nightly.yaml"], []]);
  evening.takeAway();
  const nightly = { ...NIGHTLY, name: "other", catch_up_hours: 3 };
  await evening.look([often, nightly]);
  await evening.after(47 * HOUR, [often, nightly]);
  // 2026-03-15T22:00 and 2026-03-16T22:00 passed; it is 2026-03-16T23:00.
  expect(evening.inbox().sort()).toEqual(["nightly.yaml"]);
  expect(evening.said.at(-1)).toContain(
    "other: queues/nightly.yaml is in work still (nightly.yaml)",
  );
  evening.takeAway();
  await evening.after(28 * HOUR, [often, nightly]);
  expect(evening.warned).toEqual(["schedule other: 2026-03-17T22:00:00.000Z was missed for good"]);
});

test("without catching up, a daemon that is up is not too late", async () => {
  const evening = new Evening();
  const strict = { ...NIGHTLY, catch_up_hours: 0 };
  await evening.look([strict]);
  await evening.after(2 * HOUR + 4 * MINUTE, [strict]);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
  evening.takeAway();
  await evening.after(24 * HOUR + 4 * MINUTE, [strict]);
  expect(evening.inbox()).toEqual([]);
  expect(evening.warned[0]).toContain("was missed for good");
});

test("a clock that is set back repeats nothing; one that was far ahead is not waited for", async () => {
  const evening = new Evening();
  await evening.look();
  await evening.after(2 * HOUR);
  evening.takeAway();
  evening.world.clock.stepWall(-HOUR);
  await evening.after(HOUR);
  await evening.after(HOUR);
  expect(evening.inbox()).toEqual([]);
  evening.world.clock.stepWall(400 * 24 * HOUR);
  await evening.look();
  evening.takeAway();
  evening.world.clock.stepWall(-400 * 24 * HOUR);
  await evening.look();
  expect(evening.warned).toEqual([expect.stringContaining("the clock was ahead")]);
  await evening.after(23 * HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
});

test("the same bytes in work are no failure, and are said; other bytes get another name", async () => {
  const evening = new Evening();
  await evening.look();
  await evening.after(2 * HOUR);
  await evening.after(24 * HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
  expect(evening.said.at(-1)).toContain(
    "is in work still (nightly.yaml), so it is not dropped again",
  );
  evening.write("two");
  await evening.after(24 * HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml", "nightly-2.yaml"]);
  expect(evening.warned).toEqual([]);
});

test("a submission that is open although its file was removed counts as well", async () => {
  const evening = new Evening();
  const { world } = evening;
  const inbox = await world.open();
  await evening.look();
  await evening.after(2 * HOUR);
  await inbox.pass(new AbortController().signal);
  world.clock.advance(31_000);
  await inbox.pass(new AbortController().signal);
  const [submission] = await world.store.submissions({ sha256: sha256Hex(queueText("one")) });
  evening.takeAway();
  await evening.after(24 * HOUR);
  expect(evening.said.at(-1)).toContain(`is in work still (submission ${submission?.id})`);
  await world.endJobs(submission?.id ?? "");
  await evening.after(24 * HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
});

test.each([
  ["no such file", (evening: Evening) => evening.world.disk.unlink(FILE)],
  [
    "no regular file",
    (evening: Evening) => {
      evening.world.disk.unlink(FILE);
      evening.world.disk.makeDirs(FILE);
    },
  ],
  [
    "run: chmod go-w",
    (evening: Evening) => {
      evening.distrust = `${FILE} can be written by everyone; run: chmod go-w ${FILE}`;
    },
  ],
  ["is empty", (evening: Evening) => evening.world.disk.put(FILE, "")],
])(
  "a file that cannot be dropped (%s) is named once, and dropped when it is mended",
  async (why, spoil) => {
    const evening = new Evening();
    await evening.look();
    spoil(evening);
    const { views } = await evening.after(2 * HOUR);
    await evening.after(MINUTE);
    await evening.after(MINUTE);
    expect(evening.warned).toEqual([expect.stringContaining(why)]);
    expect(views[0]?.trouble).toContain(why);
    expect(evening.inbox()).toEqual([]);
    evening.distrust = null;
    if (evening.world.disk.lstat(FILE)?.kind === "directory") evening.world.disk.rmdir(FILE);
    evening.write("one");
    const mended = await evening.after(HOUR);
    expect([evening.inbox(), mended.views[0]?.trouble]).toEqual([["nightly.yaml"], null]);
  },
);

test("one that stays bad is given up after the bound, with its reason", async () => {
  const evening = new Evening();
  await evening.look();
  evening.world.disk.unlink(FILE);
  for (let hour = 0; hour < 25; hour += 1)
    await evening.after(HOUR, [{ ...NIGHTLY, catch_up_hours: 2 }]);
  expect(evening.warned).toHaveLength(2);
  expect(evening.warned[1]).toMatch(/22:00:00.000Z was missed for good \(.*no such file\)/);
});

test("a file that is being written is waited for", async () => {
  const evening = new Evening();
  await evening.look();
  evening.world.clock.advance(2 * HOUR - 10_000);
  evening.write("half");
  const { next_ms } = await evening.after(10_000);
  expect([evening.inbox(), next_ms]).toEqual([[], at("2026-03-10T22:00:20Z")]);
  await evening.after(20_000);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
});

test("a state that cannot be read repeats nothing, and is said", async () => {
  const evening = new Evening();
  await evening.look();
  await evening.after(2 * HOUR);
  evening.takeAway();
  evening.world.disk.unlink("/state/schedule.json");
  evening.world.disk.put("/state/schedule.json", "{ half");
  evening.restart();
  await evening.after(MINUTE);
  expect(evening.inbox()).toEqual([]);
  expect(evening.warned).toEqual([expect.stringContaining("schedule.json cannot be read")]);
  await evening.after(24 * HOUR);
  expect(evening.inbox()).toEqual(["nightly.yaml"]);
});
