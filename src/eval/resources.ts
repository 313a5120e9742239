import { z } from "zod";
import { readJsonLines } from "../core/files.ts";
import type { PressureLevel } from "../probes/index.ts";
import type { EvalResponse } from "./records.ts";
import { knownMax, knownMin } from "./stats.ts";

const amount = z.number().nullable().catch(null);

/** What the join needs of a line of `resources.jsonl`; older files lack some of it. */
const tickSchema = z.object({
  ts: z.number(),
  sys_used_mb: amount,
  swap_used_mb: amount,
  server_rss_mb: amount,
  mem_pressure_level: z.enum(["normal", "warn", "critical"]).nullable().catch(null),
  throttled: z.boolean().nullable().catch(null),
  baseline: z.boolean().catch(false),
  invocation: z.string().catch(""),
});

export type JoinTick = z.output<typeof tickSchema>;

/** All ticks of a bundle, of every invocation, by time. A half-written last line is left out. */
export function readTicks(path: string): JoinTick[] {
  return readJsonLines(path)
    .flatMap((line) => {
      const tick = tickSchema.safeParse(line);
      return tick.success ? [tick.data] : [];
    })
    .toSorted((a, b) => a.ts - b.ts);
}

/** A request that is shorter than the sampler's step has its tick just outside. */
const MARGIN_S = 0.5;
/** With no tick inside, the nearest one speaks for a window, but not one from another time. */
const NEAREST_S = 2;

/** The ticks that speak for [start, end] (epoch seconds); none where the sampler was not there. */
function ticksOf(ticks: readonly JoinTick[], start: number, end: number): JoinTick[] {
  const inside = ticks.filter((tick) => tick.ts >= start - MARGIN_S && tick.ts <= end + MARGIN_S);
  if (inside.length > 0) return inside;
  const middle = (start + end) / 2;
  const near = ticks.filter((tick) => tick.ts >= start - NEAREST_S && tick.ts <= end + NEAREST_S);
  return near.toSorted((a, b) => Math.abs(a.ts - middle) - Math.abs(b.ts - middle)).slice(0, 1);
}

const SEVERITY: readonly PressureLevel[] = ["normal", "warn", "critical"];

function worstPressure(ticks: readonly JoinTick[]): PressureLevel | null {
  const ranks = ticks.map((tick) =>
    tick.mem_pressure_level === null ? null : SEVERITY.indexOf(tick.mem_pressure_level),
  );
  const worst = knownMax(ranks);
  return worst === null ? null : (SEVERITY[worst] ?? null);
}

function anyThrottled(ticks: readonly JoinTick[]): boolean | null {
  if (ticks.some((tick) => tick.throttled === true)) return true;
  return ticks.some((tick) => tick.throttled === false) ? false : null;
}

function spread(values: readonly (number | null)[]): number | null {
  const [low, high] = [knownMin(values), knownMax(values)];
  return low === null || high === null ? null : high - low;
}

/**
 * The row with the figures of the host over its time. Where nothing was sampled they are null: a
 * sampler that was not there has not seen a healthy machine.
 */
export function joinRow(row: EvalResponse, ticks: readonly JoinTick[]): EvalResponse {
  // Ticks of the same run first: after a step of the wall clock another run's may lie in the window.
  const own = ticks.filter((tick) => tick.invocation !== "" && tick.invocation === row.invocation);
  const window = ticksOf(own.length > 0 ? own : ticks, row.t_start, row.t_end);
  const used = window.map((tick) => tick.sys_used_mb);
  const sys_used_mb = knownMax(used);
  const baseline = row.sys_used_baseline_mb;
  return {
    ...row,
    peak_rss_mb: knownMax(window.map((tick) => tick.server_rss_mb)),
    sys_used_mb,
    sys_used_delta_mb: sys_used_mb === null || baseline === null ? null : sys_used_mb - baseline,
    swap_delta_mb: spread(window.map((tick) => tick.swap_used_mb)),
    mem_pressure_max: worstPressure(window),
    throttled: anyThrottled(window),
  };
}
