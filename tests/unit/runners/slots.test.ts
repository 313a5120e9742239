import { expect, test } from "vitest";
import { SlotPool } from "../../../src/runners/embedded/slots.ts";

const NEVER = new AbortController().signal;

test("slots are given out one each, then whoever comes waits in line", async () => {
  const pool = new SlotPool(["a", "b"]);
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const order: string[] = [];
  const work = gates.map(({ promise }, i) =>
    pool.use(NEVER, async (slot) => {
      order.push(`${i}${slot}`);
      await promise;
    }),
  );
  await Promise.resolve();
  expect(pool.busy()).toEqual([true, true]);
  expect(order).toEqual(["0a", "1b"]);
  gates[1]?.resolve();
  await work[1];
  gates[0]?.resolve();
  await work[0];
  gates[2]?.resolve();
  gates[3]?.resolve();
  await Promise.all(work);
  expect(order).toEqual(["0a", "1b", "2b", "3a"]);
  expect(pool.busy()).toEqual([false, false]);
  expect(pool.idle).toBe(true);
});

test("a slot comes back also when the work fails, and waiting can be given up", async () => {
  const pool = new SlotPool(["a"]);
  const gate = Promise.withResolvers<void>();
  const failing = pool.use(NEVER, async () => {
    await gate.promise;
    throw new Error("broken");
  });
  const controller = new AbortController();
  const waiting = pool.use(controller.signal, async () => "never");
  const next = pool.use(NEVER, async (slot) => slot);
  controller.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  gate.resolve();
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("a");
  await expect(pool.use(AbortSignal.abort(), async () => 1)).rejects.toThrow(/abort/);
  expect(pool.idle).toBe(true);
});
