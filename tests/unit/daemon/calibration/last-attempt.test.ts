import { expect, test } from "vitest";
import { lastAttempt, rememberingEnd } from "../../../../src/daemon/calibration/last-attempt.ts";
import { notNow } from "../../../../src/daemon/calibration/refusal.ts";
import type { CalibrationOutcome } from "../../../../src/daemon/calibration/wish.ts";
import { slotsStatusText, type SlotsStatus } from "../../../../src/daemon/slots/status.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const KEY = "a".repeat(32);
const AT = "2026-11-29T12:00:00.000Z";

function setting() {
  const state_dir = tempDir();
  const where = { state_dir, key: KEY, now_ms: () => Date.parse(AT) };
  const end = (result: CalibrationOutcome["result"], stop: string) =>
    rememberingEnd(where, async () => ({
      result,
      runner: "house",
      model: "tiny",
      verdict: null,
      stop,
      key: null,
      evidence_path: null,
      commit: null,
      run_dir: null,
    }));
  return { where, end, last: () => lastAttempt(state_dir, KEY) };
}

test("how a calibration ended that answered nothing is kept until one does", async () => {
  const { end, last } = setting();
  expect(last()).toBeNull();
  await end("too_noisy", "two blocks differ by 40 %");
  expect(last()).toEqual({ at: AT, result: "too_noisy", reason: "two blocks differ by 40 %" });
  await end("measured", "no more can gain");
  expect(last()).toBeNull();
});

test("what stood in its way is kept, and thrown on", async () => {
  const { where, last } = setting();
  const refused = notNow("not_alone", "another runner holds a model", "Wait.");
  await expect(rememberingEnd(where, () => Promise.reject(refused))).rejects.toBe(refused);
  expect(last()).toMatchObject({ result: "not_alone", reason: "another runner holds a model" });
});

test("an open request says how it went last time", async () => {
  const { end, last } = setting();
  await end("too_noisy", "two blocks differ by 40 %");
  const request = {
    key: KEY,
    runner: "house",
    model: "tiny",
    reason: "never measured here",
    requested_at: AT,
    doing: "no daemon runs that could measure it",
    last: last(),
  };
  const status: Partial<SlotsStatus> = {
    answer: { allowed: 1, reason: "never measured here", notes: [], live: null } as never,
    evidence: [],
    leases: [],
    lock: { path: "/l", text: "free" },
    requests: [request],
    outbox: { waiting: 0, reason: null, tried_at: null },
  };
  expect(slotsStatusText(status as SlotsStatus)).toContain(
    `    last tried ${AT}: too noisy: two blocks differ by 40 %\n`,
  );
});
