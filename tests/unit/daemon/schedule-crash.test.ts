import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Crash } from "../../helpers/fault-disk.ts";
import { Evening, HOUR } from "./schedule-setting.ts";

let zone: string | undefined;

beforeAll(() => {
  zone = process.env["TZ"];
  process.env["TZ"] = "UTC";
});

afterAll(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

async function atTen(): Promise<Evening> {
  const evening = new Evening();
  await evening.look();
  evening.world.clock.advance(2 * HOUR);
  return evening;
}

/** The look at ten o'clock with `fault` at its n-th step on the disk; false where it has fewer. */
async function lookWith(evening: Evening, n: number, fault: () => Error): Promise<boolean> {
  const { disk } = evening.world;
  let left = n;
  let struck = false;
  disk.step = () => {
    left -= 1;
    if (left !== 0) return;
    struck = true;
    throw fault();
  };
  try {
    await evening.look();
  } catch (error) {
    if (!struck) throw error;
  }
  disk.step = () => undefined;
  return struck;
}

/** As many steps as there are, each with its own evening. */
async function eachStep(then: (evening: Evening, n: number) => Promise<void>, fault: () => Error) {
  for (let n = 1; ; n += 1) {
    const evening = await atTen();
    if (!(await lookWith(evening, n, fault))) return n - 1;
    await then(evening, n);
  }
}

/** What is promised: it is there once, and stays away once it was taken. */
async function once(evening: Evening, n: number): Promise<void> {
  await evening.after(60_000);
  expect([n, evening.inbox()]).toEqual([n, ["nightly.yaml"]]);
  evening.restart();
  await evening.after(60_000);
  expect([n, evening.inbox()]).toEqual([n, ["nightly.yaml"]]);
  evening.takeAway();
  evening.restart();
  await evening.after(60_000);
  expect([n, evening.inbox()]).toEqual([n, []]);
}

describe("whatever happens at whatever step, the file is dropped once", () => {
  test("the daemon is killed", async () => {
    const steps = await eachStep(
      async (evening, n) => {
        evening.restart();
        await once(evening, n);
      },
      () => new Crash(),
    );
    expect(steps).toBeGreaterThan(15);
  });

  test.each(["nothing", "everything"])("power is cut, %s unsynced is kept", async (kept) => {
    const steps = await eachStep(
      async (evening, n) => {
        evening.world.disk.crash(() => kept === "everything", "half");
        evening.restart();
        await once(evening, n);
      },
      () => new Crash(),
    );
    expect(steps).toBeGreaterThan(15);
  });

  test.each(["ENOSPC", "EIO"])("the disk says %s once, and the daemon goes on", async (code) => {
    const steps = await eachStep(once, () => Object.assign(new Error(`${code}: no`), { code }));
    expect(steps).toBeGreaterThan(15);
  });
});
