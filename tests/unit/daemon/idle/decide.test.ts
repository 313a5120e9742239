import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decide,
  whyGiveWay,
  type IdleFacts,
  type IdleRequest,
} from "../../../../src/daemon/idle/decide.ts";
import { end, housekept, NO_HISTORY } from "../../../../src/daemon/idle/history.ts";

const NOW_MS = Date.UTC(2026, 10, 29, 20, 0, 0);
const HOUR_MS = 3_600_000;

function request(key: string, more: Partial<IdleRequest> = {}): IdleRequest {
  return { key, runner: "llama", model: key, reason: "asked for", asked_ms: NOW_MS, ...more };
}

function facts(more: Partial<IdleFacts> = {}): IdleFacts {
  return {
    now_ms: NOW_MS,
    policy: { by_itself: true, max_load: 0.3, max_pressure: 0.05, power: "ac" },
    runners: ["llama"],
    configuration: "1",
    requests: [request("x")],
    history: NO_HISTORY,
    window: { open: true, next_ms: null },
    device: { load: 0.1, pressure: 0, power: "ac" },
    soon: false,
    hindrance: null,
    outbox: 0,
    has_evidence: false,
    ...more,
  };
}

/** Why the first request waits. */
function why(more: Partial<IdleFacts>): string | undefined {
  const { work, waiting } = decide(facts(more));
  expect(work).toBeNull();
  return waiting[0]?.why;
}

describe("a request is worked at", () => {
  test("where the device is idle and nothing waits", () => {
    const plan = decide(facts());
    expect(plan).toEqual({
      work: { kind: "calibrate", request: request("x") },
      waiting: [],
      look_at_ms: null,
    });
  });

  test("also where this system tells nothing of load, pressure and power", () => {
    const device = { load: null, pressure: null, power: null };
    expect(decide(facts({ device })).work?.kind).toBe("calibrate");
  });

  test("one at a time, the oldest first; the others are told so", () => {
    const plan = decide(facts({ requests: [request("x"), request("y")] }));
    expect(plan.work).toMatchObject({ request: { key: "x" } });
    expect(plan.waiting).toMatchObject([
      { request: { key: "y" }, why: "after x, asked for earlier" },
    ]);
  });

  test("the next one, where the oldest is paused", () => {
    const how = { kind: "failed", code: "c", why: "it failed", configuration: "1" } as const;
    const history = end(NO_HISTORY, request("x"), how, NOW_MS);
    const plan = decide(facts({ history, requests: [request("x"), request("y")] }));
    expect(plan.work).toMatchObject({ request: { key: "y" } });
    expect(plan.waiting).toMatchObject([
      { why: "it failed; tried again at 2026-11-29T21:00:00.000Z", until_ms: NOW_MS + HOUR_MS },
    ]);
    expect(plan.look_at_ms).toBe(NOW_MS + HOUR_MS);
  });
});

describe("a request waits, and it is said why", () => {
  const device = { load: 0.1, pressure: 0, power: "ac" } as const;
  const policy = facts().policy;
  test.each<[string, Partial<IdleFacts>, RegExp]>([
    [
      "switched off",
      { policy: { ...policy, by_itself: false } },
      /calibration\.by_itself is false/,
    ],
    ["a job soon", { soon: true }, /a job or a file is about to be due/],
    ["held", { hindrance: "the queue is held" }, /^the queue is held$/],
    [
      "load",
      { device: { ...device, load: 0.8 } },
      /at work: load 0\.8 .* up to 0\.3 counts as idle/,
    ],
    ["pressure", { device: { ...device, pressure: 0.2 } }, /wait for memory 20 % .* up to 5 %/],
    ["battery", { device: { ...device, power: "battery" } }, /runs on battery/],
    ["no runner", { runners: [] }, /runner "llama" is not in machine\.yaml any more/],
    [
      "unclear",
      { requests: [request("x", { model: null })] },
      /does not say what is to be measured/,
    ],
    [
      "window",
      {
        window: { open: false, next_ms: NOW_MS + HOUR_MS },
        policy: { ...policy, window: "* 22 * * *" },
      },
      /outside of calibration\.window \(\* 22 \* \* \*\), which opens at 2026-11-29T21:00/,
    ],
    ["window that is over", { window: { open: false, next_ms: null } }, /is over/],
  ])("%s", (_, more, said) => {
    expect(why(more)).toMatch(said);
  });

  test("on battery it is measured where the policy says so", () => {
    const plan = decide(
      facts({ device: { ...device, power: "battery" }, policy: { ...policy, power: "any" } }),
    );
    expect(plan.work?.kind).toBe("calibrate");
  });
});

describe("housekeeping", () => {
  test("comes first: once a day, and where evidence waits for git", () => {
    expect(decide(facts({ has_evidence: true })).work).toEqual({ kind: "housekeep" });
    expect(decide(facts({ outbox: 1 })).work).toEqual({ kind: "housekeep" });
    const history = housekept(NO_HISTORY, 1, NOW_MS);
    const after = { history, has_evidence: true, outbox: 1 };
    expect(decide(facts(after)).work?.kind).toBe("calibrate");
    const now_ms = NOW_MS + 5 * 60_000;
    expect(decide(facts({ ...after, now_ms })).work).toEqual({ kind: "housekeep" });
  });

  test("is kept from its work by no full disk and no held queue, but by a job that is due soon", () => {
    expect(decide(facts({ outbox: 1, hindrance: "disk low" })).work).toEqual({ kind: "housekeep" });
    expect(decide(facts({ outbox: 1, soon: true })).work).toBeNull();
  });
});

describe("a calibration gives way", () => {
  test.each<[Partial<IdleFacts>, RegExp]>([
    [{ requests: [] }, /nobody asks for it any more/],
    [{ hindrance: "disk low" }, /disk low/],
    [{ window: { open: false, next_ms: null } }, /calibration\.window/],
    [{ device: { load: 3, pressure: 0, power: "battery" } }, /battery/],
    [{ runners: [] }, /not in machine\.yaml/],
    [{ policy: { ...facts().policy, by_itself: false } }, /by_itself/],
  ])("%j", (more, said) => {
    expect(whyGiveWay(facts(more), "x")).toMatch(said);
  });

  test("not to its own load, and not to a file that is still being written", () => {
    const device = { load: 9, pressure: 1, power: "ac" } as const;
    expect(whyGiveWay(facts({ device, soon: true }), "x")).toBeNull();
  });
});

test("whatever the facts: a calibration only where nothing stands in its way, never in the past", () => {
  const kinds = fc.constantFrom("not_now", "failed", "cannot", "budget");
  const trouble = fc.record({
    kind: kinds,
    at: fc.integer({ min: -50, max: 50 }),
    seen: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.record({
        soon: fc.boolean(),
        held: fc.boolean(),
        load: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
        open: fc.boolean(),
        troubles: fc.array(trouble, { maxLength: 4 }),
        outbox: fc.nat(2),
      }),
      ({ soon, held, load, open, troubles, outbox }) => {
        let history = NO_HISTORY;
        for (const { kind, at, seen } of troubles) {
          const how = { kind, code: "c", why: "w", configuration: "1" } as const;
          const asked_ms = seen ? NOW_MS : 0;
          history = end(history, request("x", { asked_ms }), how, NOW_MS + at * HOUR_MS);
        }
        const given = facts({
          soon,
          hindrance: held ? "held" : null,
          device: { load, pressure: 0, power: "ac" },
          window: { open, next_ms: NOW_MS + HOUR_MS },
          history,
          outbox,
        });
        const { work, waiting, look_at_ms } = decide(given);
        const free = !soon && !held && open && (load ?? 0) <= 0.3;
        const wrong = work?.kind === "calibrate" && (!free || waiting.length > 0);
        const silent = work === null && waiting.some((one) => one.why === "");
        // Nothing waits for longer than a day for a pause to end.
        const ahead_ms = (look_at_ms ?? NOW_MS + 1) - NOW_MS;
        const bounded = ahead_ms > 0 && ahead_ms <= 24 * HOUR_MS;
        expect([wrong, silent, bounded]).toEqual([false, false, true]);
      },
    ),
    { numRuns: 500 },
  );
});
