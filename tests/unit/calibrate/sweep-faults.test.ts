import { describe, expect, test } from "vitest";
import { FLAT, METHOD, RISING, TwistedDevice, readingsOf, sweepOn } from "./devices.ts";

describe("a sweep of a healthy device", () => {
  test("ends at the number where gain ends", async () => {
    const device = new TwistedDevice();
    const { sweep, verdict } = await sweepOn(device);
    expect(verdict).toMatchObject({ result: "measured", recommended: 4, first_breach: null });
    expect(sweep.complete).toBe(true);
    expect(sweep.ladder.map((start) => start.slots_asked)).toEqual([1, 2, 4, 8]);
    expect(device.running).toBe(0);
  });

  test("each number is measured on starts with so many slots, and memory there alone", async () => {
    const device = new TwistedDevice();
    const { sweep } = await sweepOn(device);
    for (const { slots, request } of device.periods) {
      expect([1, slots, ...sweep.levels.map((one) => one.against)]).toContain(request.workers);
      expect(request.workers).toBeLessThanOrEqual(slots);
    }
    // The simulated memory follows the slots: 42 %, 44 % and 48 % of the host's.
    const peak = (slots: number) =>
      sweep.levels.find((one) => one.slots === slots)?.readings?.host_used_peak_mb;
    expect(sweep.baseline.readings?.host_used_peak_mb).toBeCloseTo(0.42 * 32_000, 6);
    expect(peak(2)).toBeCloseTo(0.44 * 32_000, 6);
    expect(peak(4)).toBeCloseTo(0.48 * 32_000, 6);
  });

  test("both arms of a block have the same prompts, all workers are kept busy", async () => {
    const device = new TwistedDevice();
    await sweepOn(device);
    const blocks = device.periods.filter(({ slots }) => slots === 2).slice(0, 4);
    const prompts = blocks.map(({ request }) =>
      request.segments.slice(request.workers - 1).map((segment) => segment.id),
    );
    expect(prompts[0]).toEqual(prompts[1]);
    expect(prompts[2]).toEqual(prompts[3]);
    expect(prompts[0]).not.toEqual(prompts[2]);
    for (const { request } of blocks) {
      const counted = new Set(request.segments.map((segment) => segment.id));
      expect(request.fillers.length).toBeGreaterThanOrEqual(request.workers > 1 ? 20 : 0);
      expect(request.fillers.some((segment) => counted.has(segment.id))).toBe(false);
    }
    const nonces = device.periods.map(({ request }) => request.nonce);
    expect(new Set(nonces.map((nonce) => nonce.length))).toEqual(new Set([16]));
    expect(new Set(blocks.map(({ request }) => request.nonce)).size).toBe(4);
  });

  test("a gain that comes only at 4, after a flat 2, is found", async () => {
    const late = [1, 1, 1, 1.7, 1.75, 1.8, 1.8, 1.8];
    const { verdict } = await sweepOn(new TwistedDevice({ rate: late }));
    expect(verdict.recommended).toBe(4);
  });

  test("two flat levels end the search at 1, early", async () => {
    const device = new TwistedDevice({ rate: FLAT });
    const { sweep, verdict } = await sweepOn(device);
    expect(verdict).toMatchObject({ result: "measured", recommended: 1, first_breach: null });
    expect(sweep.levels.map((level) => level.slots)).toEqual([2, 4]);
    expect(device.inner.turns).toBeLessThan(144);
    expect(verdict.reason).toMatch(/^1: no proven gain from 2 slots: .*; 4 slots: /);
  });

  test("a peak between two steps of the bracket is found", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice({ rate: [1, 1.8, 2.5, 1.6, 1.6, 1.6, 1.6, 1.6] }),
    );
    expect(verdict.recommended).toBe(3);
  });

  test("slots that cost more than they bring are no gain", async () => {
    // Each slot configured slows everything by 5 %: 1.2 times on the start, 1.14 over a start with one.
    const device = new TwistedDevice({
      rate: [1, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2],
      slot_cost: 0.12,
    });
    const { sweep, verdict } = await sweepOn(device);
    expect(verdict.recommended).toBe(1);
    expect(sweep.levels[0]?.start_arm.length).toBeGreaterThanOrEqual(4);
    expect(sweep.levels[0]?.start_arm.slice(0, 4).map((arm) => arm.slots)).toEqual([2, 1, 1, 2]);
  });

  test("an attached server has no start arms", async () => {
    const method = { ...METHOD, residency: "attached" as const };
    const { sweep, verdict } = await sweepOn(new TwistedDevice(), { method });
    expect(verdict.recommended).toBe(4);
    expect(sweep.levels.every((level) => level.start_arm.length === 0)).toBe(true);
  });

  test("with a nonce only exact prompts are compared, and in the end enough of them", async () => {
    const method = { ...METHOD, cold: "nonce" as const };
    const device = new TwistedDevice();
    const { sweep, verdict } = await sweepOn(device, { method });
    expect(verdict.recommended).toBe(4);
    expect(sweep.levels.map((level) => level.fidelity.segments)).toEqual([0, 59, 0, 0]);
    expect(sweep.baseline.self_agreement.segments).toBe(0);
    const exact = device.periods.slice(-6).map(({ request }) => request.nonce);
    expect(new Set(exact).size).toBe(1);
  });
});

describe("faults of a device", () => {
  test("claims four slots and has one", async () => {
    const told = await sweepOn(new TwistedDevice({ fault: "cut_told", fault_at: 4 }));
    expect(told.verdict).toMatchObject({
      recommended: 3,
      first_breach: { slots: 4, bound: "slots" },
    });
    expect(told.verdict.first_breach?.reason).toBe("4 slots were asked for and 1 given");
    expect(told.sweep.levels.some((level) => level.slots === 4)).toBe(false);
    // Says that it has them: then there is no gain to be seen.
    const silent = await sweepOn(new TwistedDevice({ fault: "cut_silent", fault_at: 2 }));
    expect(silent.verdict.recommended).toBe(1);
  });

  test("memory climbs past the ceiling under load", async () => {
    const { verdict } = await sweepOn(new TwistedDevice({ fault: "memory_busy", fault_at: 4 }));
    expect(verdict.recommended).toBe(3);
    expect(verdict.first_breach).toMatchObject({ slots: 4, bound: "host_memory" });
  });

  test("memory is full as soon as the model is loaded: known without a request", async () => {
    const device = new TwistedDevice({ fault: "memory", fault_at: 2 });
    const { sweep, verdict } = await sweepOn(device);
    expect(verdict).toMatchObject({ result: "measured", recommended: 1 });
    expect(verdict.first_breach?.bound).toBe("host_memory");
    expect(sweep.levels).toEqual([]);
  });

  test("dies at 3: the number below stands", async () => {
    const { sweep, verdict } = await sweepOn(new TwistedDevice({ fault: "dies", fault_at: 3 }));
    expect(verdict.recommended).toBe(2);
    expect(verdict.first_breach).toEqual({
      slots: 3,
      bound: "server",
      reason: "the server was lost: the server ended with signal 9",
    });
    expect(sweep.complete).toBe(true);
  });

  test("does not load at 4: a breach at 4, not the end of everything", async () => {
    const device = new TwistedDevice({ fault: "load", fault_at: 4 });
    const { sweep, verdict } = await sweepOn(device);
    expect(verdict.recommended).toBe(3);
    expect(verdict.first_breach).toMatchObject({ slots: 4, bound: "load" });
    expect(sweep.ladder.map((start) => start.slots_asked)).toEqual([1, 2, 4]);
    expect(device.running).toBe(0);
  });

  test("does not load at all: no evidence", async () => {
    const record = (
      start: Parameters<
        NonNullable<ConstructorParameters<typeof TwistedDevice>[1]>["record"] & object
      >[0],
    ) => ({
      ...start,
      loaded: false,
      failure: "no such file",
    });
    const { verdict } = await sweepOn(new TwistedDevice({}, { record }));
    expect(verdict).toMatchObject({
      result: "incomplete",
      reason:
        "not finished: the model does not load with one slot: no such file. This is no evidence.",
    });
  });

  test("a context too small for the corpus is a breach, never a short run", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice(
        {},
        { record: (start) => (start.slots_asked > 1 ? { ...start, context_read: 4096 } : start) },
      ),
    );
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "context" });
  });

  test("answers change under load", async () => {
    const { sweep, verdict } = await sweepOn(new TwistedDevice({ flips: 0.2 }));
    expect(verdict.recommended).toBe(1);
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "fidelity" });
    expect(sweep.baseline.self_agreement.structural_flips).toBe(0);
  });

  test("answers change only with four busy: the step below is certified", async () => {
    const { sweep, verdict } = await sweepOn(
      new TwistedDevice(
        {},
        {
          period: (result, { workers }) =>
            workers < 4
              ? result
              : {
                  ...result,
                  turns: result.turns.map((turn, at) =>
                    at % 3 === 0 ? { ...turn, structural: "text" } : turn,
                  ),
                },
        },
      ),
    );
    expect(verdict.recommended).toBe(2);
    expect(verdict.first_breach).toMatchObject({ slots: 4, bound: "fidelity" });
    expect(sweep.levels[0]?.fidelity.segments).toBeGreaterThanOrEqual(59);
  });

  test("too noisy, even with longer periods, is a named result", async () => {
    let count = 0;
    const { sweep, verdict } = await sweepOn(
      new TwistedDevice(
        {},
        {
          // Every third period takes twice as long as it should, whatever its length.
          period: (result) => {
            count += 1;
            const factor = count % 3 === 0 ? 2 : 1;
            const turns = result.turns.map((turn) => ({
              ...turn,
              ended_s: turn.started_s + factor * (turn.ended_s - turn.started_s),
            }));
            return { ...result, turns };
          },
        },
      ),
    );
    expect(verdict).toMatchObject({ result: "too_noisy", recommended: 1 });
    expect(sweep.levels).toEqual([]);
    // Periods had been made longer before.
    expect(sweep.baseline.blocks[0]?.turns[0]).toBeGreaterThan(METHOD.segments_per_period * 3);
  });

  test("a prefix cache that only load warms is not taken for a gain", async () => {
    const { sweep, verdict } = await sweepOn(
      new TwistedDevice({ fault: "cache", fault_at: 2, rate: FLAT }),
    );
    expect(verdict.recommended).toBe(1);
    const reasons = sweep.levels.flatMap((level) => level.discards.map((one) => one.reason));
    expect(reasons.join()).toContain("in a cache");
    expect(sweep.levels.every((level) => level.start_arm.length === 0)).toBe(true);
  });

  test("a client that is too slow breaks a bound of its own", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice(
        {},
        {
          period: (result, { workers }) =>
            workers === 1
              ? result
              : { ...result, client: { ...result.client, in_flight_share: 0.7 } },
        },
      ),
    );
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "client" });
  });

  test("a reading that cannot be had above one slot fails closed", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice(
        {},
        {
          period: (result, { workers }) =>
            workers === 1
              ? result
              : readingsOf(result, {
                  alone: null,
                  unavailable: { alone: "/api/ps did not answer" },
                }),
        },
      ),
    );
    expect(verdict.recommended).toBe(1);
    expect(verdict.reason).toContain(
      "whether anybody else used the device cannot be read: /api/ps did not answer",
    );
  });

  test("a turn that fails at one slot already is not held against more", async () => {
    const device = new TwistedDevice(
      {},
      {
        period: (result) => {
          const turns = result.turns.map((turn) =>
            turn.segment_id === "s3" ? { ...turn, ok: false, fault: "500" } : turn,
          );
          const failed_turns = turns.filter((turn) => !turn.ok).length;
          return { ...readingsOf(result, { failed_turns }), turns };
        },
      },
    );
    // Lead-ins and fillers are looked at by the device alone: keep the segment out of them.
    const { sweep, verdict, state } = await sweepOn(device, {
      method: { ...METHOD, max_slots: 1 + 1 },
    });
    expect(state.excluded.includes("s3") || sweep.levels.length > 0).toBe(true);
    expect(verdict.result).toBe("measured");
  });

  test("a turn that fails under load alone is a breach", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice(
        { rate: RISING },
        {
          period: (result, { workers }) =>
            workers === 1 ? result : readingsOf(result, { failed_turns: 1 }),
        },
      ),
    );
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "failed_turns" });
  });

  test("a shorter prompt than at one slot is a cut one", async () => {
    const { verdict } = await sweepOn(
      new TwistedDevice(
        {},
        {
          period: (result, { workers }) =>
            workers === 1
              ? result
              : {
                  ...result,
                  turns: result.turns.map((turn) => ({
                    ...turn,
                    prompt_tokens: (turn.prompt_tokens ?? 0) - 8,
                  })),
                },
        },
      ),
    );
    expect(verdict.first_breach).toMatchObject({ slots: 2, bound: "cut_prompts" });
  });
});
