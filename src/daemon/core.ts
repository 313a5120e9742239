/** What the daemon should do next, and how long it may wait. Pure: time comes with each event. */

export interface Now {
  wall_ms: number;
  monotonic_ms: number;
}

/** `soft`: the running step ends, the job is handed back. `hard`: the step is ended now. */
export type Stop = "none" | "soft" | "hard";

export type Phase =
  | "starting"
  | "idle"
  | "running"
  | "measuring"
  | "housekeeping"
  | "waiting_for_lock"
  | "barred"
  | "stopping"
  | "stopped";

export interface State {
  phase: Phase;
  stop: Stop;
  /** Id of the job that runs beside the loop. */
  running: string | null;
  /** What is done beside the loop while nothing waits. */
  idle_work: IdleKind | null;
  /** It was asked to end at its next step boundary. */
  gives_way: boolean;
  /** Who has the model lock, in words, where it was refused to us last time. */
  lock_held: string | null;
  /** Refusals in a row. */
  lock_refusals: number;
  /** Why nothing new may begin (a disk that is low, a faulty configuration); null where it may. */
  barred: string | null;
  /** When the inbox wants to be looked at, monotonic. */
  look_at_ms: number | null;
  /** When a job could be claimed, wall clock. */
  due_at_ms: number | null;
  /** When something will be due in idle hours, wall clock. */
  idle_at_ms: number | null;
}

/** `calibrate` gives way to a job at its next step boundary; `housekeep` takes seconds. */
export type IdleKind = "calibrate" | "housekeep";

export const START: State = {
  phase: "starting",
  stop: "none",
  running: null,
  idle_work: null,
  gives_way: false,
  lock_held: null,
  lock_refusals: 0,
  barred: null,
  look_at_ms: null,
  due_at_ms: null,
  idle_at_ms: null,
};

/** What happened. Those marked "beside" come at any time; the others answer the last effect. */
export type Event =
  | { kind: "started" }
  | { kind: "looked"; look_at_ms: number | null }
  | { kind: "tidied" }
  | { kind: "checked"; due_at_ms: number | null; barred: string | null }
  | { kind: "locked" }
  | { kind: "lock_refused"; holder: string }
  | { kind: "claimed"; found: boolean }
  | { kind: "idled"; look_at_ms: number | null }
  | { kind: "gave_way" }
  | { kind: "woke" }
  /** Beside: a stop was asked for, once or once more. */
  | { kind: "stop" }
  /** Beside: a job runs from now on, claimed or taken over from an earlier daemon. */
  | { kind: "began"; job_id: string }
  /** Beside. */
  | { kind: "job_ended" }
  /** Beside: what `idle` found to do has begun. */
  | { kind: "idle_began"; what: IdleKind }
  /** Beside. */
  | { kind: "idle_ended" };

export type Effect =
  /** Looks at the inbox and takes up what is ripe. */
  | { kind: "look" }
  /** Puts files of ended submissions away, fails hopeless jobs, reaps. */
  | { kind: "tidy" }
  /** Asks store and disk what could run. */
  | { kind: "check" }
  | { kind: "take_lock" }
  /** Claims a job and begins it under the lock; gives the lock back where there is none. */
  | { kind: "claim" }
  /**
   * No job is due: begins what there is to do in idle hours, or sees to what is under way. `soon`: a
   * job or a file is about to be due. `barred`: why no new work may begin.
   */
  | { kind: "idle"; soon: boolean; barred: string | null }
  /** Lets what is done in idle hours end at its next step boundary. */
  | { kind: "give_way"; why: string }
  | { kind: "wait"; for_ms: number }
  | { kind: "end" };

/** However quiet it is: files may come by ways that send no hint. */
export const RESCAN_MS = 60_000;
/** Between looks at a lock that others hold: soon at first, then rarely, for they measure. */
const LOCK_LOOK_MS = { first: 500, longest: 5000 } as const;
/** What is due within this time is not begun a calibration before. */
export const SOON_MS = 120_000;
/** Where a claim found nothing although something was due: not at once again. */
const RETRY_MS = 1000;

interface Next {
  state: State;
  /** null for what happens beside the loop: it goes on with what it does. */
  effect: Effect | null;
}

function stopMore(stop: Stop): Stop {
  return stop === "none" ? "soft" : "hard";
}

function phaseOf(state: State): Phase {
  if (state.stop !== "none") return "stopping";
  if (state.running !== null) return "running";
  if (state.idle_work === "calibrate") return "measuring";
  if (state.idle_work === "housekeep") return "housekeeping";
  if (state.barred !== null) return "barred";
  return state.lock_held === null ? "idle" : "waiting_for_lock";
}

/** Nothing is under way that would have to end first. */
function mayBegin({ running, idle_work, barred }: State): boolean {
  return running === null && idle_work === null && barred === null;
}

/** Waits until the earliest thing that is known to come. */
function wait(state: State, now: Now, least_ms = 0): Next {
  const waits = [RESCAN_MS];
  if (state.look_at_ms !== null) waits.push(state.look_at_ms - now.monotonic_ms);
  if (state.lock_held !== null) {
    waits.push(Math.min(LOCK_LOOK_MS.first * 2 ** (state.lock_refusals - 1), LOCK_LOOK_MS.longest));
  } else if (mayBegin(state) && state.due_at_ms !== null) {
    waits.push(state.due_at_ms - now.wall_ms);
  }
  if (mayBegin(state) && state.idle_at_ms !== null) waits.push(state.idle_at_ms - now.wall_ms);
  const for_ms = Math.max(least_ms, 0, Math.min(...waits));
  return { state: { ...state, phase: phaseOf(state) }, effect: { kind: "wait", for_ms } };
}

function end(state: State): Next {
  return { state: { ...state, phase: "stopped" }, effect: { kind: "end" } };
}

/** Whether a job or a file is about to be due. */
function isSoon({ look_at_ms, due_at_ms, barred }: State, now: Now): boolean {
  if (barred !== null) return false;
  if (look_at_ms !== null) return true;
  return due_at_ms !== null && due_at_ms <= now.wall_ms + SOON_MS;
}

function giveWay(state: State, why: string): Next {
  return { state: { ...state, gives_way: true }, effect: { kind: "give_way", why } };
}

/** What may run is known now: take the lock for it, see to what idle hours are for, or wait. */
function choose(state: State, now: Now): Next {
  const { barred, running } = state;
  const due = state.due_at_ms !== null && state.due_at_ms <= now.wall_ms;
  if (!due || barred !== null) {
    const next = due ? state : { ...state, lock_held: null, lock_refusals: 0 };
    if (running !== null) return wait(next, now);
    return { state: next, effect: { kind: "idle", soon: isSoon(state, now), barred } };
  }
  if (running !== null) return wait(state, now);
  if (state.idle_work === null) return { state, effect: { kind: "take_lock" } };
  // The lock is its child's until it ends.
  return state.gives_way ? wait(state, now) : giveWay(state, "a job is due");
}

/** Begins a round, or winds down. */
function round(state: State): Next {
  if (state.stop === "none") return { state, effect: { kind: "look" } };
  // What runs may be cancelled meanwhile, and then nobody has to wait for its step.
  return isFree(state) ? end(state) : { state, effect: { kind: "tidy" } };
}

function isFree({ running, idle_work }: State): boolean {
  return running === null && idle_work === null;
}

function windDown(state: State, now: Now): Next {
  if (isFree(state)) return end(state);
  if (state.idle_work !== null && !state.gives_way) return giveWay(state, "the daemon stops");
  return wait({ ...state, look_at_ms: null }, now);
}

/**
 * One step of the daemon. A round is look, tidy, check, and where something is due: lock, claim; where
 * nothing is: what idle hours are for. The lock comes before the claim, so that a job never counts as
 * running while a shell measures.
 */
export function step(state: State, event: Event, now: Now): Next {
  switch (event.kind) {
    case "stop": {
      const stop = stopMore(state.stop);
      return { state: { ...state, stop, phase: "stopping" }, effect: null };
    }
    case "began":
      return { state: { ...state, running: event.job_id, phase: "running" }, effect: null };
    case "job_ended": {
      const next = { ...state, running: null };
      return { state: { ...next, phase: phaseOf(next) }, effect: null };
    }
    case "idle_began": {
      const next = { ...state, idle_work: event.what, gives_way: false };
      return { state: { ...next, phase: phaseOf(next) }, effect: null };
    }
    case "idle_ended": {
      const next = { ...state, idle_work: null, gives_way: false };
      return { state: { ...next, phase: phaseOf(next) }, effect: null };
    }
    case "started":
    case "woke":
      return round(state);
    case "looked":
      return { state: { ...state, look_at_ms: event.look_at_ms }, effect: { kind: "tidy" } };
    case "tidied":
      return state.stop === "none" ? { state, effect: { kind: "check" } } : windDown(state, now);
    case "checked": {
      const { due_at_ms, barred } = event;
      const next = { ...state, due_at_ms, barred, idle_at_ms: null };
      return next.stop === "none" ? choose(next, now) : round(next);
    }
    case "lock_refused": {
      const lock_refusals = state.lock_refusals + 1;
      return wait({ ...state, lock_held: event.holder, lock_refusals }, now);
    }
    case "locked":
      return { state: { ...state, lock_held: null, lock_refusals: 0 }, effect: { kind: "claim" } };
    case "idled":
      return wait({ ...state, idle_at_ms: event.look_at_ms }, now);
    case "gave_way":
      return wait(state, now);
    case "claimed":
      break;
  }
  return wait(state, now, event.found ? 0 : RETRY_MS);
}
