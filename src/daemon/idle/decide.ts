// What the daemon does while nothing waits, and why it does not. Pure.
import { isoTime } from "../../core/clock.ts";
import type { Window } from "./window.ts";
import { outboxDue, tidyDue, troubleOf, type IdleHistory } from "./history.ts";

export interface IdleRequest {
  key: string;
  /** Name of the runner in machine.yaml and of the model; null where its file does not say. */
  runner: string | null;
  model: string | null;
  reason: string;
  /** When a person or a script asked for it last. */
  asked_ms: number;
}

/** How this machine is now; null = cannot be told. */
export interface DeviceNow {
  /** Tasks that want a processor, mean of a minute, for each one there is. */
  load: number | null;
  /** Share of the time that tasks waited for memory. */
  pressure: number | null;
  power: "ac" | "battery" | null;
}

export interface IdlePolicy {
  by_itself: boolean;
  window?: string | undefined;
  max_load: number;
  max_pressure: number;
  power: "ac" | "any";
}

export interface IdleFacts {
  now_ms: number;
  policy: IdlePolicy;
  /** Runners that machine.yaml declares. */
  runners: readonly string[];
  /** Marks the configuration: another one, another mark. */
  configuration: string;
  /** Open ones, oldest first. */
  requests: readonly IdleRequest[];
  history: IdleHistory;
  window: Window;
  device: DeviceNow;
  /** Other work is about to begin. */
  soon: boolean;
  /** Why nothing new may begin here (a full disk, a held queue); null where it may. */
  hindrance: string | null;
  /** Evidence that waits for git and may be committed. */
  outbox: number;
  /** Whether there is anything that could grow stale. */
  has_evidence: boolean;
}

/** A request that is not worked at, and why. */
export interface Waiting {
  request: IdleRequest;
  /** What kind of reason it is: the text may have figures in it that change all the time. */
  code: string;
  why: string;
  /** When that will have passed, wall clock; null where that cannot be told. */
  until_ms: number | null;
}

type Why = Omit<Waiting, "request">;

export interface IdlePlan {
  work: { kind: "calibrate"; request: IdleRequest } | { kind: "housekeep" } | null;
  waiting: Waiting[];
  /** When something will be due that is known now; null where nothing is. */
  look_at_ms: number | null;
}

function because(code: string, why: string, until_ms: number | null = null): Why {
  return { code, why, until_ms };
}

function windowWhy({ window, policy }: IdleFacts): Why | null {
  if (window.open) return null;
  const pattern = policy.window ?? "";
  if (window.next_ms === null) return because("window", `calibration.window (${pattern}) is over`);
  const opens = isoTime(window.next_ms);
  const why = `outside of calibration.window (${pattern}), which opens at ${opens}`;
  return because("window", why, window.next_ms);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Why the machine is not idle; null where it is. What cannot be told does not stand in the way. */
function deviceWhy({ device, policy }: IdleFacts): Why | null {
  const { load, pressure, power } = device;
  if (power === "battery" && policy.power === "ac") {
    return because("battery", "the machine runs on battery (calibration.power)");
  }
  if (load !== null && load > policy.max_load) {
    const most = `up to ${policy.max_load} counts as idle (calibration.max_load)`;
    return because("load", `the machine is at work: load ${load} for each processor, ${most}`);
  }
  if (pressure !== null && pressure > policy.max_pressure) {
    const most = `up to ${percent(policy.max_pressure)} counts as idle (calibration.max_pressure)`;
    return because("pressure", `tasks wait for memory ${percent(pressure)} of the time, ${most}`);
  }
  return null;
}

/** Why nothing is measured at all, whatever was asked for. */
function generalWhy(facts: IdleFacts): Why | null {
  if (!facts.policy.by_itself) {
    return because("off", "calibration.by_itself is false in touchstoned.yaml");
  }
  if (facts.hindrance !== null) return because("hindrance", facts.hindrance);
  return facts.soon ? because("soon", "a job or a file is about to be due") : null;
}

/** Why this request can not be worked at, whatever the machine does. */
function requestWhy(request: IdleRequest, facts: IdleFacts): Why | null {
  const { runner, model } = request;
  if (runner === null || model === null) {
    return because("unclear", "its file does not say what is to be measured (slots request)");
  }
  if (!facts.runners.includes(runner)) {
    return because("runner_gone", `runner "${runner}" is not in machine.yaml any more`);
  }
  const trouble = troubleOf(facts.history, request, facts);
  if (trouble === null) return null;
  const again = trouble.kind === "budget" ? "goes on" : "tried again";
  const why = `${trouble.why}; ${again} at ${isoTime(trouble.until_ms)}`;
  return because(trouble.kind, why, trouble.until_ms);
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * What to do now. At most one calibration at a time: that of the oldest request that is not paused,
 * so that one which gave way goes on before another begins.
 */
export function decide(facts: IdleFacts): IdlePlan {
  const { requests, history, now_ms } = facts;
  const tidy = facts.has_evidence && tidyDue(history, now_ms);
  const commit = facts.outbox > 0 && outboxDue(history, now_ms);
  // Neither a full disk nor a held queue keeps evidence from being committed.
  if (!facts.soon && (tidy || commit)) {
    return { work: { kind: "housekeep" }, waiting: [], look_at_ms: null };
  }
  const general = generalWhy(facts);
  const around = windowWhy(facts) ?? deviceWhy(facts);
  const waiting: Waiting[] = [];
  let chosen: IdleRequest | null = null;
  for (const request of requests) {
    const why = general ?? requestWhy(request, facts) ?? around;
    if (why !== null) waiting.push({ request, ...why });
    else if (chosen === null) chosen = request;
    else
      waiting.push({
        request,
        ...because("turn", `after ${chosen.model ?? ""}, asked for earlier`),
      });
  }
  const look_at_ms = earliest(waiting.map(({ until_ms }) => until_ms));
  return {
    work: chosen === null ? null : { kind: "calibrate", request: chosen },
    waiting,
    look_at_ms,
  };
}

/** Why the calibration under way is to end at its next step boundary; null where it may go on. */
export function whyGiveWay(facts: IdleFacts, key: string): string | null {
  const { requests, policy, device } = facts;
  const request = requests.find((one) => one.key === key);
  if (request === undefined) return "nobody asks for it any more";
  const runner_gone = request.runner === null || !facts.runners.includes(request.runner);
  const battery = device.power === "battery" && policy.power === "ac";
  return (
    generalWhy({ ...facts, soon: false })?.why ??
    (runner_gone ? requestWhy(request, facts)?.why : undefined) ??
    windowWhy(facts)?.why ??
    (battery ? (deviceWhy(facts)?.why ?? null) : null)
  );
}
