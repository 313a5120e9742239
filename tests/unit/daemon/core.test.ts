import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  RESCAN_MS,
  SOON_MS,
  START,
  step,
  type Effect,
  type Event,
  type IdleKind,
  type Now,
  type State,
} from "../../../src/daemon/core.ts";

const NOW: Now = { wall_ms: 1_000_000, monotonic_ms: 5000 };

/** Feeds events one after the other; the last effect and the state. */
function feed(events: readonly Event[], from: State = START, now = NOW) {
  let state = from;
  let effect: Effect | null = null;
  for (const event of events) {
    const next = step(state, event, now);
    state = next.state;
    effect = next.effect;
  }
  return { state, effect };
}

function checked(due_at_ms: number | null, barred: string | null = null): Event[] {
  return [
    { kind: "started" },
    { kind: "looked", look_at_ms: null },
    { kind: "tidied" },
    { kind: "checked", due_at_ms, barred },
  ];
}

/** A round in which nothing is due, and nothing is to be done in idle hours. */
function quiet(due_at_ms: number | null, barred: string | null = null): Event[] {
  return [...checked(due_at_ms, barred), { kind: "idled", look_at_ms: null }];
}

describe("a round", () => {
  test("looks, tidies, checks", () => {
    expect(feed([{ kind: "started" }]).effect).toEqual({ kind: "look" });
    const looked: Event = { kind: "looked", look_at_ms: null };
    expect(feed([{ kind: "woke" }, looked]).effect).toEqual({ kind: "tidy" });
    expect(feed([{ kind: "woke" }, looked, { kind: "tidied" }]).effect).toEqual({ kind: "check" });
  });

  test("takes the lock before it claims", () => {
    expect(feed(checked(NOW.wall_ms)).effect).toEqual({ kind: "take_lock" });
    expect(feed([...checked(0), { kind: "locked" }]).effect).toEqual({ kind: "claim" });
  });

  test("waits for the rescan where nothing is due", () => {
    const { state, effect } = feed(quiet(null));
    expect(effect).toEqual({ kind: "wait", for_ms: RESCAN_MS });
    expect(state.phase).toBe("idle");
  });

  test("waits for the earliest of job, file and rescan", () => {
    expect(feed(quiet(NOW.wall_ms + 9000)).effect).toEqual({ kind: "wait", for_ms: 9000 });
    const file: Event[] = [
      { kind: "looked", look_at_ms: NOW.monotonic_ms + 700 },
      { kind: "tidied" },
      { kind: "checked", due_at_ms: NOW.wall_ms + 9000, barred: null },
      { kind: "idled", look_at_ms: NOW.wall_ms + 5000 },
    ];
    expect(feed(file).effect).toEqual({ kind: "wait", for_ms: 700 });
    expect(feed(quiet(NOW.wall_ms + 9 * RESCAN_MS)).effect).toMatchObject({ for_ms: RESCAN_MS });
  });

  test("a claim that found nothing is not tried again at once", () => {
    const events: Event[] = [...checked(0), { kind: "locked" }, { kind: "claimed", found: false }];
    expect(feed(events).effect).toEqual({ kind: "wait", for_ms: 1000 });
  });
});

describe("the lock is held by others", () => {
  test("it looks again soon, then rarely, and says who has it", () => {
    let { state } = feed(checked(0));
    const waits: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const next = step(state, { kind: "lock_refused", holder: "held by a shell" }, NOW);
      state = next.state;
      if (next.effect?.kind === "wait") waits.push(next.effect.for_ms);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
    expect(state).toMatchObject({ phase: "waiting_for_lock", lock_held: "held by a shell" });
    expect(step(state, { kind: "locked" }, NOW).state.lock_held).toBeNull();
  });

  test("with nothing left to run there is nothing to wait for", () => {
    const refused = feed([...checked(0), { kind: "lock_refused", holder: "x" }]).state;
    expect(feed(quiet(null), refused).state).toMatchObject({ phase: "idle", lock_held: null });
  });
});

describe("while a job runs", () => {
  const running = feed([{ kind: "began", job_id: "J" }]).state;

  test("the inbox is looked at, and nothing is claimed", () => {
    expect(feed([{ kind: "woke" }], running).effect).toEqual({ kind: "look" });
    expect(feed(checked(0), running).effect).toEqual({ kind: "wait", for_ms: RESCAN_MS });
    expect(running.phase).toBe("running");
  });

  test("its end frees the loop for the next", () => {
    const ended = feed([{ kind: "job_ended" }], running).state;
    expect(feed(checked(0), ended).effect).toEqual({ kind: "take_lock" });
  });

  test("a stop waits for it; its end ends the daemon", () => {
    const stopping = feed([{ kind: "stop" }], running).state;
    expect(stopping).toMatchObject({ stop: "soft", phase: "stopping" });
    // A cancel is noticed all the same.
    expect(feed([{ kind: "woke" }], stopping).effect).toMatchObject({ kind: "tidy" });
    const waiting = feed([{ kind: "woke" }, { kind: "tidied" }], stopping);
    expect(waiting.effect).toMatchObject({ kind: "wait" });
    const ended = feed([{ kind: "job_ended" }, { kind: "woke" }], stopping);
    expect(ended.effect).toEqual({ kind: "end" });
    expect(feed([{ kind: "stop" }], stopping).state.stop).toBe("hard");
  });
});

test("a stop in the middle of a round claims nothing more", () => {
  for (let after = 1; after <= 4; after += 1) {
    const events = checked(0).slice(0, after);
    const { state } = feed(events);
    const stopped = feed([{ kind: "stop" }], state).state;
    const rest = checked(0).slice(after);
    const { effect } = feed([...rest, { kind: "woke" }], stopped);
    expect(effect).toEqual({ kind: "end" });
  }
});

test("a full disk begins nothing, and goes on when there is room", () => {
  const barred = "disk low";
  // Evidence is committed even so.
  expect(feed(checked(0, barred)).effect).toEqual({ kind: "idle", soon: false, barred });
  const full = feed(quiet(0, barred));
  expect(full.effect).toEqual({ kind: "wait", for_ms: RESCAN_MS });
  expect(full.state.phase).toBe("barred");
  expect(feed(checked(0), full.state).effect).toEqual({ kind: "take_lock" });
});

describe("idle hours", () => {
  const began = (what: "calibrate" | "housekeep", from = START): State =>
    feed(
      [...checked(null), { kind: "idle_began", what }, { kind: "idled", look_at_ms: null }],
      from,
    ).state;

  test("are there when no job is due; what is about to be due is told", () => {
    expect(feed(checked(null)).effect).toEqual({ kind: "idle", soon: false, barred: null });
    const soon = { kind: "idle", soon: true, barred: null };
    expect(feed(checked(NOW.wall_ms + SOON_MS)).effect).toEqual(soon);
    expect(feed(checked(NOW.wall_ms + SOON_MS + 1)).effect).toMatchObject({ soon: false });
    const ripening: Event[] = [{ kind: "woke" }, { kind: "looked", look_at_ms: 1 }];
    const { state } = feed(ripening);
    expect(feed(checked(null).slice(2), state).effect).toEqual(soon);
  });

  test("end with a job that is due: asked once to give way, and no lock is taken meanwhile", () => {
    const measuring = began("calibrate");
    expect(measuring.phase).toBe("measuring");
    const due = feed(checked(0), measuring);
    expect(due.effect).toEqual({ kind: "give_way", why: "a job is due" });
    const asked = feed([{ kind: "gave_way" }], due.state);
    expect(asked.effect).toEqual({ kind: "wait", for_ms: RESCAN_MS });
    expect(feed(checked(0), asked.state).effect).toEqual({ kind: "wait", for_ms: RESCAN_MS });
    const ended = feed([{ kind: "idle_ended" }], asked.state).state;
    expect(feed(checked(0), ended).effect).toEqual({ kind: "take_lock" });
  });

  test("are not looked for while a job runs", () => {
    const running = feed([{ kind: "began", job_id: "J" }]).state;
    expect(feed(checked(null), running).effect).toMatchObject({ kind: "wait" });
  });

  test("are seen to in each round, also while something is under way", () => {
    const phases = (["calibrate", "housekeep"] as const).map((what) => {
      const state = began(what);
      expect(feed(checked(null), state).effect).toMatchObject({ kind: "idle" });
      return state.phase;
    });
    expect(phases).toEqual(["measuring", "housekeeping"]);
  });

  test("are over with a stop: what is under way gives way, and its end ends the daemon", () => {
    const stopping = feed([{ kind: "stop" }], began("calibrate")).state;
    const asked = feed([{ kind: "woke" }, { kind: "tidied" }], stopping);
    expect(asked.effect).toEqual({ kind: "give_way", why: "the daemon stops" });
    const waiting = feed([{ kind: "gave_way" }, { kind: "woke" }, { kind: "tidied" }], asked.state);
    expect(waiting.effect).toMatchObject({ kind: "wait" });
    const ended = feed([{ kind: "idle_ended" }, { kind: "woke" }], waiting.state);
    expect(ended.effect).toEqual({ kind: "end" });
  });

  test("a time that is past keeps nobody awake", () => {
    const { state } = feed([...checked(null), { kind: "idled", look_at_ms: NOW.wall_ms - 1 }]);
    const refused = feed([...checked(0), { kind: "lock_refused", holder: "x" }], state);
    expect(refused.effect).toEqual({ kind: "wait", for_ms: 500 });
  });
});

/** Answers an effect at random, as the world might. */
const answers = fc.record({
  due: fc.option(fc.integer({ min: -1e6, max: 1e6 }), { nil: null }),
  look: fc.option(fc.integer({ min: -1e5, max: 1e5 }), { nil: null }),
  disk: fc.boolean(),
  lock: fc.boolean(),
  found: fc.boolean(),
  beside: fc.constantFrom<"none" | "stop" | "job_ended" | "idle_ended">(
    "none",
    "none",
    "none",
    "stop",
    "job_ended",
    "idle_ended",
  ),
  idle: fc.constantFrom<IdleKind | "nothing">("nothing", "calibrate", "housekeep"),
  passed_ms: fc.integer({ min: 0, max: 200_000 }),
});

/** What is wrong with an effect in this state; null where nothing is. */
function faultOf(state: State, effect: Effect, locked: boolean): string | null {
  const free = state.running === null && state.idle_work === null;
  switch (effect.kind) {
    case "end":
      return free && state.stop !== "none" ? null : "ended without being asked, or with a job";
    case "take_lock":
      return free ? null : "took the lock beside a job";
    case "claim":
      return free && locked ? null : "claimed without the lock, or beside a job";
    case "idle":
      return state.running === null ? null : "idle hours beside a job";
    case "give_way":
      return state.idle_work === null ? "nobody is there to give way" : null;
    case "wait":
      return effect.for_ms >= 0 && effect.for_ms <= RESCAN_MS ? null : `waits ${effect.for_ms} ms`;
    case "look":
    case "tidy":
    case "check":
      break;
  }
  return null;
}

type Answer = typeof answers extends fc.Arbitrary<infer T> ? T : never;

/** What the world says to an effect. */
function answer(effect: Effect, round: Answer): Event {
  switch (effect.kind) {
    case "look":
      return { kind: "looked", look_at_ms: round.look };
    case "tidy":
      return { kind: "tidied" };
    case "check":
      return { kind: "checked", due_at_ms: round.due, barred: round.disk ? "low" : null };
    case "take_lock":
      return round.lock ? { kind: "locked" } : { kind: "lock_refused", holder: "x" };
    case "claim":
      return { kind: "claimed", found: round.found };
    case "idle":
      return { kind: "idled", look_at_ms: round.look };
    case "give_way":
      return { kind: "gave_way" };
    case "wait":
    case "end":
      break;
  }
  return { kind: "woke" };
}

test("whatever happens: one job at a time, lock before claim, waits within bounds, a stop ends", () => {
  const runs = fc.check(
    fc.property(fc.array(answers, { minLength: 1, maxLength: 60 }), (rounds) => {
      let state: State = START;
      let event: Event = { kind: "started" };
      const now = { ...NOW };
      for (const round of rounds) {
        const beside = (happened: Event) => (state = step(state, happened, now).state);
        if (round.beside === "stop") beside({ kind: "stop" });
        if (round.beside === "job_ended" && state.running !== null) beside({ kind: "job_ended" });
        if (round.beside === "idle_ended" && state.idle_work !== null) {
          beside({ kind: "idle_ended" });
        }
        const next = step(state, event, now);
        state = next.state;
        const { effect } = next;
        if (effect === null) return false;
        const fault = faultOf(state, effect, event.kind === "locked");
        if (fault !== null) throw new Error(fault);
        if (effect.kind === "end") return true;
        if (effect.kind === "claim" && round.found) beside({ kind: "began", job_id: "J" });
        const begins = effect.kind === "idle" && state.idle_work === null && state.stop === "none";
        if (begins && round.idle !== "nothing") beside({ kind: "idle_began", what: round.idle });
        if (effect.kind === "wait") {
          now.wall_ms += round.passed_ms;
          now.monotonic_ms += Math.min(round.passed_ms, effect.for_ms);
        }
        event = answer(effect, round);
      }
      return true;
    }),
    { numRuns: 500 },
  );
  expect(fc.defaultReportMessage(runs) ?? "no fault").toBe("no fault");
});
