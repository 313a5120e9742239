import { describe, expect, test } from "vitest";
import type { LoadedModels, Residency } from "../../../src/runners/index.ts";
import { waitSettled, type SettleSettings } from "../../../src/steps/settle.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

const NOTHING: LoadedModels = { models: [], reason: null };

interface World {
  memory: (number | null)[];
  loaded?: (look: number) => LoadedModels;
  residency?: Residency;
  settings?: Partial<SettleSettings>;
  signal?: AbortSignal;
}

/** Memory at each look; the last value stays. */
async function settle(world: World) {
  let looks = 0;
  let asked = 0;
  return waitSettled({
    settings: {
      timeout_s: 120,
      plateau_polls: 2,
      poll_interval_s: 2,
      epsilon_mb: 50,
      ...world.settings,
    },
    runner: {
      residency: world.residency ?? "managed",
      loaded: async () => world.loaded?.((asked += 1)) ?? NOTHING,
    },
    used_mb: () => world.memory[Math.min((looks += 1), world.memory.length) - 1] ?? null,
    clock: new FakeClock({ jumpSleeps: true }),
    ...(world.signal === undefined ? {} : { signal: world.signal }),
  });
}

describe("touchstone's own vectors", () => {
  test("5000, 4000, 3000, 2980, 2975 with 50 and 2 rests at 2975 on the fifth look", async () => {
    expect(await settle({ memory: [5000, 4000, 3000, 2980, 2975] })).toMatchObject({
      outcome: "ok",
      final_mb: 2975,
      polls: 5,
      waited_s: 8,
      initial_mb: 5000,
      released: true,
    });
  });

  test("memory that falls by 1000 a look does not rest within 6 s", async () => {
    const record = await settle({
      memory: [9000, 8000, 7000, 6000, 5000, 4000],
      settings: { timeout_s: 6 },
    });
    expect(record).toMatchObject({ outcome: "timeout", waited_s: 6 });
    expect(record.reason).toContain("moved by 2000 MB");
  });

  test("the defaults need four looks and six seconds", async () => {
    const record = await settle({
      memory: [100],
      settings: { plateau_polls: 3, epsilon_mb: 200 },
    });
    expect(record).toMatchObject({ polls: 4, waited_s: 6 });
  });
});

test("exactly epsilon is movement", async () => {
  const at = (mb: number) => settle({ memory: [mb, 0, mb, 0], settings: { timeout_s: 4 } });
  expect((await at(50)).outcome).toBe("timeout");
  expect((await at(49)).outcome).toBe("ok");
});

test("a slow steady release is no standstill", async () => {
  // 40 MB a look is below epsilon, but 80 MB over the window are not.
  const memory = Array.from({ length: 10 }, (_, i) => 5000 - 40 * i);
  expect((await settle({ memory })).polls).toBe(11);
});

test("a plateau with the model still loaded is no release", async () => {
  const loaded = () => ({ models: ["big"], reason: null });
  const record = await settle({ memory: [8000], loaded, settings: { timeout_s: 10 } });
  expect(record).toMatchObject({ outcome: "timeout", released: false });
  expect(record.reason).toBe("still in memory: big");
});

test("it goes on until the runner says that nothing is loaded", async () => {
  const loaded = (look: number) => (look < 4 ? { models: ["big"], reason: null } : NOTHING);
  expect(await settle({ memory: [8000], loaded })).toMatchObject({ outcome: "ok", polls: 6 });
});

test("a managed runner that says nothing has proven nothing", async () => {
  const loaded = () => ({ models: null, reason: "no answer" });
  const record = await settle({ memory: [8000], loaded, settings: { timeout_s: 6 } });
  expect(record).toMatchObject({ outcome: "timeout", released: null });
  expect(record.reason).toContain("no answer");
});

test("of a runner that never tells, the plateau has to do, and the record says so", async () => {
  const loaded = () => ({ models: null, reason: "no such endpoint" });
  const record = await settle({ memory: [8000], loaded, residency: "unknown" });
  expect(record).toMatchObject({ outcome: "ok", released: null });
  expect(record.reason).toContain("no such endpoint");
});

test("a fixed runner: not applicable, at once, with the reason", async () => {
  const record = await settle({ memory: [8000], residency: "fixed" });
  expect(record).toMatchObject({ outcome: "not_applicable", polls: 0, waited_s: 0 });
  expect(record.reason).toContain("as long as it lives");
});

test("memory that cannot be read is never a standstill", async () => {
  const record = await settle({ memory: [null], settings: { timeout_s: 6 } });
  expect(record).toMatchObject({ outcome: "timeout", final_mb: null });
  expect(record.reason).toContain("cannot be read");
});

test("the last wait is cut to what is left", async () => {
  const record = await settle({ memory: [1, 1e6], settings: { timeout_s: 3 } });
  expect(record.waited_s).toBe(3);
});

test("it stops when the user does", async () => {
  const signal = AbortSignal.abort();
  expect((await settle({ memory: [1, 900], signal })).outcome).toBe("interrupted");
});
