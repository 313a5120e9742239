import { existsSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import {
  acquireModelLock,
  lockStatus,
  takeLease,
  Turn,
  type Lease,
} from "../../../src/station/index.ts";
import { place, shellGets, take } from "../../helpers/lock.ts";

interface Wish {
  wait_s?: number;
  allowed?: number | (() => number);
  model?: string;
  onWait?: (why: string) => void;
  signal?: AbortSignal;
}

function lease(path: string, wish: Wish = {}): Promise<Lease> {
  const { allowed = 2, model = "tiny", wait_s = 0, onWait, signal } = wish;
  return takeLease({
    path,
    allowed: () =>
      Promise.resolve({
        allowed: typeof allowed === "number" ? allowed : allowed(),
        reason: "as measured",
      }),
    holder: { purpose: "test", runner: "local", model },
    wait_s,
    clock: systemClock,
    ...(onWait === undefined ? {} : { onWait }),
    ...(signal === undefined ? {} : { signal }),
  });
}

describe("slots", () => {
  it("are taken up to the number that is allowed, and free again when they are given back", async () => {
    const { path } = place();
    const one = await lease(path);
    const two = await lease(path);
    expect([one.slot, two.slot]).toEqual([1, 2]);
    await expect(lease(path)).rejects.toMatchObject({
      code: "slots_busy",
      exitCode: 75,
      message: expect.stringMatching(
        /2 of 2 slots are taken: pid \d+ \(test\) since .*as measured/,
      ),
    });
    one.end();
    one.end(); // twice is once
    const three = await lease(path);
    expect(three.slot).toBe(1);
    two.end();
    three.end();
    expect(await lockStatus(path)).toMatchObject({ held: false, mode: null, text: "free" });
    expect(existsSync(`${path}.slot-1.info`)).toBe(false);
  });

  it("are as many as are allowed now, whatever was allowed before", async () => {
    const { path } = place();
    const held = [await lease(path, { allowed: 3 }), await lease(path, { allowed: 3 })];
    held[0]?.end();
    // Slot 1 is free, and one of one is taken.
    await expect(lease(path, { allowed: 1 })).rejects.toThrow("1 of 1 slots are taken");
    held[1]?.end();
    (await lease(path, { allowed: 1 })).end();
  });

  it("serve one model at a time: two side by side were never measured", async () => {
    const { path } = place();
    const first = await lease(path, { allowed: 4 });
    await expect(lease(path, { allowed: 4, model: "other" })).rejects.toThrow(
      /pid \d+ \(test\) since .* uses model tiny/,
    );
    first.end();
    (await lease(path, { allowed: 4, model: "other" })).end();
  });

  it("are waited for, and it is said for whom", async () => {
    const { path } = place();
    const held = await lease(path, { allowed: 1 });
    let why = "";
    const waited = await lease(path, {
      allowed: 1,
      wait_s: 60,
      onWait: (text) => {
        why = text;
        held.end();
      },
    });
    expect(why).toContain("1 of 1 slots are taken");
    expect(waited.slot).toBe(1);
    waited.end();
  });

  it("are asked for anew after a wait: the number may have fallen", async () => {
    const { path } = place();
    const held = await lease(path);
    let allowed = 1;
    const waited = await lease(path, {
      allowed: () => allowed,
      wait_s: 60,
      onWait: () => (allowed = 2),
    });
    expect(waited.slot).toBe(2);
    held.end();
    waited.end();
  });

  it("end a wait when it is told to stop", async () => {
    const { path } = place();
    const held = await lease(path, { allowed: 1 });
    const controller = new AbortController();
    const waiting = lease(path, {
      allowed: 1,
      wait_s: 3600,
      signal: controller.signal,
      onWait: () => controller.abort(),
    });
    await expect(waiting).rejects.toMatchObject({ exitCode: 75 });
    held.end();
  });
});

describe("the model lock", () => {
  it("keeps slots from being taken while somebody measures, and says who", async () => {
    const { path } = place();
    const lock = await take(path);
    await expect(lease(path)).rejects.toThrow(
      /the model lock is held by pid \d+ \(test, run RUN1\)/,
    );
    lock.release();
    (await lease(path)).end();
  });

  it("is shared by those who hold slots, which its status shows", async () => {
    const { path } = place();
    const held = [await lease(path), await lease(path)];
    const status = await lockStatus(path);
    expect(status).toMatchObject({ held: true, mode: "shared", holder: null });
    expect(status.shared.map(({ slot, model }) => [slot, model])).toEqual([
      [1, "tiny"],
      [2, "tiny"],
    ]);
    expect(status.text).toMatch(/^shared by pid \d+ \(test\) since .*, pid \d+ \(test\) since/);
    expect(shellGets(path)).toBe(false);
    await expect(take(path)).rejects.toThrow("shared by pid");
    for (const one of held) one.end();
    expect(shellGets(path)).toBe(true);
  });

  it("gets its turn while slots come and go: who waits for it is let in before new ones", async () => {
    const { path } = place();
    const first = await lease(path);
    let second: Lease | undefined;
    const waiting = take(path, 60, () => undefined);
    // Somebody always holds a slot, until the turnstile is closed.
    let refused = "";
    for (let round = 0; refused === ""; round += 1) {
      expect(round).toBeLessThan(500);
      try {
        const next = await lease(path, { allowed: 3 });
        second?.end();
        second = next;
      } catch (error) {
        refused = String(error);
      }
    }
    expect(refused).toContain("those who share it let him pass");
    first.end();
    second?.end();
    const lock = await waiting;
    await expect(lease(path)).rejects.toThrow("the model lock is held by");
    lock.release();
    (await lease(path)).end();
  });

  it("keeps the place of one who does not wait but comes back, until it has it", async () => {
    const { path } = place();
    const turn = new Turn(path);
    onTestFinished(() => turn.release());
    const look = (): ReturnType<typeof acquireModelLock> =>
      acquireModelLock({
        path,
        wait_s: 0,
        holder: { purpose: "daemon", run_id: null },
        clock: systemClock,
        turn,
      });
    const held = await lease(path);
    await expect(look()).rejects.toMatchObject({ code: "lock_busy" });
    await expect(lease(path)).rejects.toThrow("those who share it let him pass");
    held.end();
    const lock = await look();
    lock.release();
    (await lease(path)).end();
  });

  it("leaves the turnstile open for one who is refused and goes", async () => {
    const { path } = place();
    const held = await lease(path);
    await expect(take(path)).rejects.toMatchObject({ code: "lock_busy" });
    await expect(take(path, 0.2)).rejects.toMatchObject({ code: "lock_busy" });
    (await lease(path)).end();
    held.end();
  });
});
