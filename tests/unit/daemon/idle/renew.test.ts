import { expect, test } from "vitest";
import { renewAtMs, toRenew } from "../../../../src/daemon/idle/renew.ts";
import { requestKey } from "../../../../src/evidence/light.ts";

const DAY_MS = 86_400_000;
const LIMITS = { max_age_days: 30, renew_before_days: 5 };
const ASKED = { runner: "llama", kind: "llama-server", model: "qwen" };

function measured(age_days: number, more: object = {}) {
  const at_ms = 100 * DAY_MS - age_days * DAY_MS;
  const of = { runner_kind: "llama-server", model: "qwen" };
  return { ...of, oldest_ms: at_ms, created_ms: at_ms, ...more };
}

function asked(...ages: ReturnType<typeof measured>[]): number {
  return toRenew(ages, [ASKED], { ...LIMITS, now_ms: 100 * DAY_MS }).length;
}

test("what scripts ask for is measured again five days before it is stale", () => {
  expect([24, 25, 29, 31].map((age) => asked(measured(age)))).toEqual([0, 1, 1, 1]);
  const [one] = toRenew([measured(26)], [ASKED], { ...LIMITS, now_ms: 100 * DAY_MS });
  expect(one).toEqual({
    ...ASKED,
    key: requestKey("llama-server", "qwen"),
    stale_ms: 104 * DAY_MS,
  });
});

test("the newest counts; other models, other runners and what was never measured do not", () => {
  expect(asked(measured(29), measured(3))).toBe(0);
  expect(asked(measured(29, { model: "other" }))).toBe(0);
  expect(asked(measured(29, { runner_kind: "ollama" }))).toBe(0);
  expect(asked()).toBe(0);
  expect(toRenew([measured(29)], [], { ...LIMITS, now_ms: 100 * DAY_MS })).toEqual([]);
});

test("never in the first half of its life, and never where nobody wants it", () => {
  const young = { oldest_ms: 0, created_ms: 0, runner_kind: "", model: "" };
  expect(renewAtMs(young, { max_age_days: 4, renew_before_days: 5 })).toBe(2 * DAY_MS);
  expect(renewAtMs(young, { max_age_days: 30, renew_before_days: 0 })).toBe(Infinity);
  // A date that cannot be read is due: it will never be believed.
  expect(asked(measured(Number.NaN))).toBe(1);
});
