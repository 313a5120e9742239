import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadHistory, saveHistory } from "../../../../src/daemon/idle/history-file.ts";
import {
  begin,
  died,
  end,
  forget,
  gained,
  housekept,
  jobEnded,
  NO_HISTORY,
  outboxDue,
  started,
  tidyDue,
  troubleOf,
  type IdleHistory,
  type TroubleKind,
} from "../../../../src/daemon/idle/history.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const NOW_MS = Date.UTC(2026, 10, 29, 20, 0, 0);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const X = { key: "x", asked_ms: 5 };
const NOW = { now_ms: NOW_MS, configuration: "1" };

function trouble(kind: TroubleKind, code = "c") {
  return { kind, code, why: "so it is", configuration: "1" } as const;
}

/** The pauses after each of several ends of one kind, minutes. */
function pauses(kind: TroubleKind, times: number): number[] {
  let history = NO_HISTORY;
  return Array.from({ length: times }, () => {
    history = end(history, X, trouble(kind), NOW_MS);
    return ((history.keys["x"]?.trouble?.until_ms ?? 0) - NOW_MS) / MINUTE_MS;
  });
}

describe("pauses", () => {
  test.each<[TroubleKind, number[]]>([
    ["not_now", [2, 4, 8, 16, 32, 60, 60]],
    ["failed", [60, 120, 240, 480, 960, 1440, 1440]],
    ["cannot", [60, 120, 240, 480, 960, 1440, 1440]],
    ["budget", [1440, 1440]],
  ])("grow and are bounded: %s", (kind, minutes) => {
    expect(pauses(kind, minutes.length)).toEqual(minutes);
  });

  test("of a day's budget count from the begin", () => {
    const begun = begin(NO_HISTORY, X, NOW_MS - 3 * HOUR_MS);
    const { trouble: one } = end(begun, X, trouble("budget"), NOW_MS).keys["x"] ?? {};
    expect(one?.until_ms).toBe(NOW_MS + 21 * HOUR_MS);
  });

  test("end in time, with another question, and with another configuration", () => {
    const history = end(NO_HISTORY, X, trouble("failed"), NOW_MS);
    expect(troubleOf(history, X, NOW)).toMatchObject({ why: "so it is" });
    expect(troubleOf(history, X, { ...NOW, now_ms: NOW_MS + HOUR_MS })).toBeNull();
    expect(troubleOf(history, { ...X, asked_ms: 6 }, NOW)).toBeNull();
    expect(troubleOf(history, X, { ...NOW, configuration: "2" })).toBeNull();
    const busy = end(NO_HISTORY, X, trouble("not_now"), NOW_MS);
    expect(troubleOf(busy, X, { ...NOW, configuration: "2" })).not.toBeNull();
  });

  test("do not outlast a clock that was set back, and hold over one hour of it", () => {
    const history = end(NO_HISTORY, X, trouble("failed"), NOW_MS);
    expect(troubleOf(history, X, { ...NOW, now_ms: NOW_MS - HOUR_MS })).not.toBeNull();
    expect(troubleOf(history, X, { ...NOW, now_ms: NOW_MS - 3 * HOUR_MS })).toBeNull();
  });

  test("are forgotten with the answer, and with the request", () => {
    const history = end(NO_HISTORY, X, trouble("failed"), NOW_MS);
    expect(end(history, X, { kind: "measured" }, NOW_MS).keys).toEqual({});
    expect(forget(history, []).keys).toEqual({});
    expect(forget(history, ["x"])).toBe(history);
  });

  test("for want of a corpus end with the next job, others do not", () => {
    for (const code of ["no_corpus", "pool_too_small"]) {
      expect(jobEnded(end(NO_HISTORY, X, trouble("cannot", code), NOW_MS)).keys).toEqual({});
    }
    const other = end(NO_HISTORY, X, trouble("cannot"), NOW_MS);
    expect(jobEnded(other)).toBe(other);
  });

  test("giving way leaves none", () => {
    const failed = end(NO_HISTORY, X, trouble("failed"), NOW_MS);
    const again = end(begin(failed, X, NOW_MS), X, { kind: "quiet" }, NOW_MS);
    expect([again.begun, again.keys["x"]?.trouble]).toEqual([null, null]);
  });
});

describe("daemons that end in the middle of it", () => {
  const deaths = (times: number, progress: boolean): IdleHistory => {
    let history = NO_HISTORY;
    for (let n = 0; n < times; n += 1) {
      history = begin(history, X, NOW_MS);
      if (progress) history = gained(history);
      history = died(history, "1", NOW_MS);
    }
    return history;
  };

  test("twice without anything gained is chance, three times is a failure", () => {
    expect(troubleOf(deaths(2, false), X, NOW)).toBeNull();
    expect(deaths(3, false).keys["x"]?.trouble).toMatchObject({ kind: "failed", code: "died" });
    expect(deaths(3, false).begun).toBeNull();
  });

  test("any number of times, as long as each gains a step", () => {
    expect(deaths(20, true).keys["x"]).toMatchObject({ deaths: 0, trouble: null });
  });

  test("nothing was begun: nothing is counted", () => {
    expect(died(NO_HISTORY, "1", NOW_MS)).toBe(NO_HISTORY);
    expect(gained(NO_HISTORY)).toBe(NO_HISTORY);
    expect(started(NO_HISTORY, { root: null, token: "t" })).toBe(NO_HISTORY);
  });
});

describe("housekeeping", () => {
  test("is due once a day, also after a clock that was ahead", () => {
    expect(tidyDue(NO_HISTORY, NOW_MS)).toBe(true);
    const kept = housekept(NO_HISTORY, 0, NOW_MS);
    expect([1, 23, 24].map((hours) => tidyDue(kept, NOW_MS + hours * HOUR_MS))).toEqual([
      false,
      false,
      true,
    ]);
    expect(tidyDue(kept, NOW_MS - 2 * HOUR_MS)).toBe(true);
  });

  test("tries git again after 5, 10, 20 minutes, at most 6 hours", () => {
    let history = NO_HISTORY;
    const minutes = Array.from({ length: 9 }, () => {
      history = housekept(history, 1, NOW_MS);
      return ((history.outbox?.until_ms ?? 0) - NOW_MS) / MINUTE_MS;
    });
    expect(minutes).toEqual([5, 10, 20, 40, 80, 160, 320, 360, 360]);
    expect(outboxDue(history, NOW_MS)).toBe(false);
    expect(outboxDue(housekept(history, 0, NOW_MS), NOW_MS)).toBe(true);
  });
});

describe("the file of it", () => {
  test("gives back what was written", () => {
    const path = join(tempDir(), "idle.json");
    expect(loadHistory(path)).toBe(NO_HISTORY);
    const tree = { root: null, token: "t" };
    const paused = end(housekept(NO_HISTORY, 2, NOW_MS), X, trouble("cannot"), NOW_MS);
    const history = started(begin(paused, { key: "y", asked_ms: 1 }, NOW_MS), tree);
    saveHistory(path, history);
    expect(loadHistory(path)).toEqual(history);
  });

  test.each([
    "",
    "{",
    "[]",
    "null",
    '{"schema_version": 2}',
    '{"schema_version": 1, "keys": {"x": {}}, "begun": null, "outbox": null, "tidied_ms": null}',
    '{"schema_version": 1, "keys": {}, "begun": {}, "outbox": null, "tidied_ms": null}',
    '{"schema_version": 1, "keys": {}, "begun": null, "outbox": 3, "tidied_ms": null}',
    '{"schema_version": 1, "keys": {}, "begun": null, "outbox": null, "tidied_ms": "now"}',
  ])("that nobody can read is none: %s", (text) => {
    const path = join(tempDir(), "idle.json");
    writeFileSync(path, text);
    expect(loadHistory(path)).toBe(NO_HISTORY);
  });
});
