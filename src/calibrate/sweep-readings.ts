import type { ClientReadings, GpuReading, Readings } from "../verdict/index.ts";

type Amount = number | null;

/** What could not be read once is not known at all: null wins over every number. */
function worst(a: Amount, b: Amount): Amount {
  return a === null || b === null ? null : Math.max(a, b);
}

function sum(a: Amount, b: Amount): Amount {
  return a === null || b === null ? null : a + b;
}

/** `bad` wins over null, null over the other. */
function flag(a: boolean | null, b: boolean | null, bad: boolean): boolean | null {
  if (a === bad || b === bad) return bad;
  return a === null || b === null ? null : !bad;
}

function mergeGpus(a: GpuReading[] | null, b: GpuReading[] | null): GpuReading[] | null {
  if (a === null || b === null) return null;
  const ids = [...new Set([...a, ...b].map((gpu) => gpu.id))];
  return ids.map((id) => {
    const [first, second] = [a.find((gpu) => gpu.id === id), b.find((gpu) => gpu.id === id)];
    return {
      id,
      // A GPU that is seen in one period and not in another was not read there.
      used_peak_mb: worst(first?.used_peak_mb ?? null, second?.used_peak_mb ?? null),
      total_mb: worst(first?.total_mb ?? null, second?.total_mb ?? null),
    };
  });
}

const PRESSURE = ["normal", "warn", "critical"] as const;

function worstPressure(
  a: Readings["pressure_level"],
  b: Readings["pressure_level"],
): Readings["pressure_level"] {
  if (a === null || b === null) return null;
  return PRESSURE.indexOf(a) > PRESSURE.indexOf(b) ? a : b;
}

/** What was read in one period only is unknown from then on, and says so. */
function onceOnly(a: Readings, b: Readings): Record<string, string> {
  const names = Object.keys(a) as (keyof Readings)[];
  const lost = names.filter((name) => (a[name] === null) !== (b[name] === null));
  return Object.fromEntries(lost.map((name) => [name, "it was read in some periods only"]));
}

/** Not there where the machine is no virtual one. */
function stolen(a: Readings, b: Readings): Pick<Readings, "stolen_time_share"> {
  const [first, second] = [a.stolen_time_share, b.stolen_time_share];
  if (first === undefined && second === undefined) return {};
  return { stolen_time_share: worst(first ?? null, second ?? null) };
}

/** The worst of two periods, field by field. */
export function mergeReadings(a: Readings | null, b: Readings): Readings {
  if (a === null) return b;
  return {
    samples: a.samples + b.samples,
    host_used_peak_mb: worst(a.host_used_peak_mb, b.host_used_peak_mb),
    host_total_mb: worst(a.host_total_mb, b.host_total_mb),
    cgroup_used_peak_mb: worst(a.cgroup_used_peak_mb, b.cgroup_used_peak_mb),
    cgroup_limit_mb: worst(a.cgroup_limit_mb, b.cgroup_limit_mb),
    gpus: mergeGpus(a.gpus, b.gpus),
    swap_out_mb_per_min: worst(a.swap_out_mb_per_min, b.swap_out_mb_per_min),
    pressure_stall_share: worst(a.pressure_stall_share, b.pressure_stall_share),
    pressure_level: worstPressure(a.pressure_level, b.pressure_level),
    throttled: flag(a.throttled, b.throttled, true),
    ...stolen(a, b),
    alone: flag(a.alone, b.alone, false),
    failed_turns: a.failed_turns + b.failed_turns,
    cut_prompts: sum(a.cut_prompts, b.cut_prompts),
    context_shifts: sum(a.context_shifts, b.context_shifts),
    unfinished_turns: a.unfinished_turns + b.unfinished_turns,
    evicted_turns: sum(a.evicted_turns, b.evicted_turns),
    model_reloads: sum(a.model_reloads, b.model_reloads),
    unavailable: { ...onceOnly(a, b), ...a.unavailable, ...b.unavailable },
  };
}

/** Means over `periods` earlier periods and one more; the worst of the delays. */
export function mergeClient(
  a: ClientReadings | null,
  periods: number,
  b: ClientReadings,
): ClientReadings {
  if (a === null) return b;
  const average = (old: Amount, one: Amount): Amount =>
    old === null || one === null ? null : (old * periods + one) / (periods + 1);
  return {
    in_flight_share: average(a.in_flight_share, b.in_flight_share),
    event_loop_delay_p99_ms: worst(a.event_loop_delay_p99_ms, b.event_loop_delay_p99_ms),
    cpu_share: average(a.cpu_share, b.cpu_share),
  };
}
