import { CLIENT_GATES, STOLEN_TIME } from "./defaults.ts";
import type { BoundName, Bounds, Breach } from "./judgement.ts";
import type { ClientReadings, GpuReading, Readings, StartRecord } from "./records.ts";

// Every bound fails closed: what cannot be read is broken, and the sentence says what could not be
// read and why. At one slot the same sentences are warnings.

type Fault = { bound: BoundName; reason: string };

const gigabytes = (mb: number): string => `${(mb / 1000).toFixed(1)} GB`;
const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`;

/** "cannot be read: REASON", for readings that are null. */
function unread(readings: Readings, ...names: (keyof Readings)[]): string {
  const known = names.map((name) => readings.unavailable[name]).find((reason) => reason);
  return `cannot be read: ${known ?? "no reason is known"}`;
}

function ceilingFault(
  bound: BoundName,
  what: string,
  used_mb: number,
  total_mb: number,
  share: number,
): Fault[] {
  if (used_mb <= share * total_mb) return [];
  return [
    {
      bound,
      reason: `${what} rose to ${gigabytes(used_mb)} of ${gigabytes(total_mb)}; the ceiling is ${percent(share)} (${gigabytes(share * total_mb)})`,
    },
  ];
}

function gpuFaults(gpus: readonly GpuReading[], share: number): Fault[] {
  return gpus.flatMap(({ id, used_peak_mb, total_mb }) =>
    used_peak_mb === null || total_mb === null
      ? [{ bound: "gpu_memory" as const, reason: `memory of GPU ${id} cannot be read` }]
      : ceilingFault("gpu_memory", `memory of GPU ${id}`, used_peak_mb, total_mb, share),
  );
}

function memoryFaults(readings: Readings, bounds: Bounds): Fault[] {
  const share = bounds.memory_ceiling;
  const { host_used_peak_mb: used, host_total_mb: whole, gpus } = readings;
  const faults: Fault[] = [];
  if (readings.samples === 0) {
    faults.push({ bound: "host_memory", reason: "memory was never sampled" });
  } else if (used === null || whole === null) {
    const why = unread(readings, "host_used_peak_mb", "host_total_mb");
    faults.push({ bound: "host_memory", reason: `memory of the host ${why}` });
  } else {
    faults.push(...ceilingFault("host_memory", "memory of the host", used, whole, share));
  }
  const { cgroup_used_peak_mb: inside, cgroup_limit_mb: limit } = readings;
  const hidden =
    readings.unavailable["cgroup_limit_mb"] ?? readings.unavailable["cgroup_used_peak_mb"];
  if (limit !== null && inside !== null) {
    faults.push(
      ...ceilingFault("cgroup_memory", "memory of the control group", inside, limit, share),
    );
  } else if (limit !== null || hidden !== undefined) {
    const why = unread(readings, "cgroup_limit_mb", "cgroup_used_peak_mb");
    faults.push({ bound: "cgroup_memory", reason: `memory of the control group ${why}` });
  }
  if (gpus === null) {
    faults.push({ bound: "gpu_memory", reason: `memory of the GPUs ${unread(readings, "gpus")}` });
  } else {
    faults.push(...gpuFaults(gpus, share));
  }
  return faults;
}

function swapFaults(readings: Readings, one: Readings | null, bounds: Bounds): Fault[] {
  const rate = readings.swap_out_mb_per_min;
  if (rate === null) {
    const why = unread(readings, "swap_out_mb_per_min");
    return [{ bound: "swap", reason: `the rate of swapping ${why}` }];
  }
  const before = one?.swap_out_mb_per_min ?? 0;
  const allowed = Math.max(before * bounds.swap_growth, bounds.swap_floor_mb_per_min);
  if (rate <= allowed) return [];
  return [
    {
      bound: "swap",
      reason: `${Math.round(rate)} MB a minute were swapped out; ${Math.round(allowed)} are allowed (one slot: ${Math.round(before)})`,
    },
  ];
}

const LEVELS = ["normal", "warn", "critical"] as const;

function pressureFaults(readings: Readings, one: Readings | null, bounds: Bounds): Fault[] {
  const { pressure_stall_share: share, pressure_level: level } = readings;
  if (share === null && level === null) {
    const why = unread(readings, "pressure_stall_share", "pressure_level");
    return [{ bound: "pressure", reason: `memory pressure ${why}` }];
  }
  const faults: Fault[] = [];
  if (share !== null && share > bounds.pressure_stall_share) {
    faults.push({
      bound: "pressure",
      reason: `tasks stood still for want of memory ${percent(share)} of the time; ${percent(bounds.pressure_stall_share)} is allowed`,
    });
  }
  // A machine that warns with one slot already may go on warning, but not rise.
  const before = LEVELS.indexOf(one?.pressure_level ?? "normal");
  if (level !== null && (level === "critical" || LEVELS.indexOf(level) > before)) {
    faults.push({
      bound: "pressure",
      reason: `the system's memory pressure rose to "${level}"`,
    });
  }
  return faults;
}

function stolenFaults(readings: Readings, one: Readings | null): Fault[] {
  const taken = readings.stolen_time_share ?? null;
  if (taken === null) return [];
  const before = one?.stolen_time_share ?? 0;
  const allowed = Math.max(STOLEN_TIME.share, STOLEN_TIME.growth * before);
  if (taken <= allowed) return [];
  return [
    {
      bound: "stolen_time",
      reason: `the host took ${percent(taken)} of this virtual machine's processor time for others; ${percent(allowed)} is allowed (one slot: ${percent(before)})`,
    },
  ];
}

function flagFaults(readings: Readings): Fault[] {
  const faults: Fault[] = [];
  // A virtual machine is told nothing of heat: what its host takes is counted in its place.
  const guest = readings.throttled === null && typeof readings.stolen_time_share === "number";
  if (readings.throttled !== false && !guest) {
    const why =
      readings.throttled === null
        ? `whether the processor was throttled ${unread(readings, "throttled")}`
        : "the processor was throttled";
    faults.push({ bound: "throttled", reason: why });
  }
  if (readings.alone !== true) {
    const why =
      readings.alone === null
        ? `whether anybody else used the device ${unread(readings, "alone")}`
        : "somebody else used the device";
    faults.push({ bound: "alone", reason: why });
  }
  return faults;
}

const COUNTS = [
  ["failed_turns", "failed"],
  ["cut_prompts", "had a prompt cut"],
  ["context_shifts", "lost the beginning of the context"],
  ["unfinished_turns", "ended without a finish"],
  ["evicted_turns", "lost the slot to another"],
] as const;

function turnFaults(readings: Readings): Fault[] {
  const faults: Fault[] = COUNTS.flatMap(([bound, words]) => {
    const number = readings[bound];
    if (number === 0) return [];
    const reason =
      number === null
        ? `how many turns ${words} ${unread(readings, bound)}`
        : `${number} turn${number === 1 ? "" : "s"} ${words}`;
    return [{ bound, reason }];
  });
  const reloads = readings.model_reloads;
  if (reloads !== 0) {
    const reason =
      reloads === null
        ? `whether the model was loaded again ${unread(readings, "model_reloads")}`
        : `the runner loaded a model ${reloads} time${reloads === 1 ? "" : "s"} in between`;
    faults.push({ bound: "model_reloads", reason });
  }
  return faults;
}

const at = (slots: number, faults: readonly Fault[]): Breach[] =>
  faults.map(({ bound, reason }) => ({ slots, bound, reason }));

/** What a level's readings break; `one` are those at one slot, for what is judged by growth. */
export function readingBreaches(
  slots: number,
  readings: Readings,
  one: Readings | null,
  bounds: Bounds,
): Breach[] {
  return at(slots, [
    ...memoryFaults(readings, bounds),
    ...swapFaults(readings, one, bounds),
    ...pressureFaults(readings, one, bounds),
    ...flagFaults(readings),
    ...stolenFaults(readings, one),
    ...turnFaults(readings),
  ]);
}

/**
 * What a start breaks before any request: it does not load, gives fewer slots or a smaller context
 * than asked, or fills the memory by loading. `host_total_mb` is null where it is not known yet.
 */
export function startBreaches(
  start: StartRecord,
  asked: { slots: number; context_per_slot: number; host_total_mb: number | null },
  bounds: Bounds,
): Breach[] {
  const { slots, context_per_slot, host_total_mb } = asked;
  if (!start.loaded) {
    const reason = `the model does not load: ${start.failure ?? "no reason is known"}`;
    return at(slots, [{ bound: "load", reason }]);
  }
  const faults: Fault[] = [];
  for (const [bound, words, got, wanted] of [
    ["slots", "slots", start.slots_read, slots],
    ["context", "tokens of context for each slot", start.context_read, context_per_slot],
  ] as const) {
    if (got === null) {
      faults.push({ bound, reason: `how many ${words} the runner gives cannot be read` });
    } else if (got < wanted) {
      faults.push({ bound, reason: `${wanted} ${words} were asked for and ${got} given` });
    }
  }
  if (start.memory_loaded_mb !== null && host_total_mb !== null) {
    const { memory_ceiling } = bounds;
    const what = "memory of the host, with the model just loaded,";
    faults.push(
      ...ceilingFault("host_memory", what, start.memory_loaded_mb, host_total_mb, memory_ceiling),
    );
  }
  // Unreadable here is judged by the readings under load.
  const known = (start.gpus_loaded ?? []).filter(
    (gpu) => gpu.used_peak_mb !== null && gpu.total_mb !== null,
  );
  faults.push(...gpuFaults(known, bounds.memory_ceiling));
  return at(slots, faults);
}

/** Turns that a slot's context could not hold: a shorter run is no measurement of this corpus. */
export function contextBreaches(
  slots: number,
  turns: number | undefined,
  context: number | null,
): Breach[] {
  if (turns === undefined || turns === 0) return [];
  const what = turns === 1 ? "1 turn is" : `${turns} turns are`;
  const room = context === null ? "the context of a slot" : `the ${context} tokens that a slot has`;
  return at(slots, [{ bound: "context", reason: `${what} longer than ${room}` }]);
}

/** Gates of the client: one that is too slow, or that cannot say, has measured itself. */
export function clientBreaches(slots: number, client: ClientReadings | null): Breach[] {
  const { in_flight_min, loop_delay_p99_ms, cpu_share } = CLIENT_GATES;
  const busy = client?.in_flight_share ?? null;
  const delay = client?.event_loop_delay_p99_ms ?? null;
  const cpu = client?.cpu_share ?? null;
  const reasons: string[] = [];
  if (busy === null) reasons.push("how many requests were in flight is not known");
  else if (busy < in_flight_min) {
    reasons.push(
      `only ${percent(busy)} of the requests were in flight; ${percent(in_flight_min)} is needed`,
    );
  }
  if (delay === null) reasons.push("the client's own delay is not known");
  else if (delay > loop_delay_p99_ms) {
    reasons.push(
      `the client was late by ${Math.round(delay)} ms (99th percentile); ${loop_delay_p99_ms} ms is allowed`,
    );
  }
  if (cpu === null) reasons.push("the client's own use of the processor is not known");
  else if (cpu > cpu_share) {
    reasons.push(`the client used ${percent(cpu)} of a core; ${percent(cpu_share)} is allowed`);
  }
  return at(
    slots,
    reasons.map((reason) => ({ bound: "client" as const, reason })),
  );
}
