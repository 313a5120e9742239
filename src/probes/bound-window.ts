import type { BoundSample, Counted, ProcessorTime } from "./bound-sample.ts";
import type { GpuMemory } from "./gpu/gpu-memory.ts";
import { worse } from "./linux/pressure.ts";
import { known, unknown, type Reading } from "./reading.ts";
import type { PressureLevel } from "./sample.ts";

/** A peak counts where at least this share of the samples told the reading. */
const TOLD_SHARE = 0.9;
/** Totals are exact: what matters is that two looks lie apart (those of macOS are made once a second). */
const SHORTEST_RATE_MS = 50;

export interface RecordedGpu {
  id: string;
  used_peak_mb: number | null;
  total_mb: number | null;
}

/** What the bounds need of a window: the part of a level's readings that the host tells. */
export interface RecordedReadings {
  samples: number;
  host_used_peak_mb: number | null;
  host_total_mb: number | null;
  /** Both null and not among `unavailable` where no control group limits us. */
  cgroup_used_peak_mb: number | null;
  cgroup_limit_mb: number | null;
  gpus: RecordedGpu[] | null;
  swap_out_mb_per_min: number | null;
  pressure_stall_share: number | null;
  pressure_level: PressureLevel | null;
  /** By heat or power. */
  throttled: boolean | null;
  /** Share of a virtual machine's processor time that its host took; not there on other machines. */
  stolen_time_share?: number | null;
  unavailable: Record<string, string>;
}

/** The worst of a reading over a window, and how often it was told. */
class Worst<T> {
  #worst: T | undefined;
  #told = 0;
  #asked = 0;
  #reason = "no sample was taken";
  readonly #pick: (a: T, b: T) => T;

  constructor(pick: (a: T, b: T) => T) {
    this.#pick = pick;
  }

  add(reading: Reading<T>): void {
    this.#asked += 1;
    if (reading.reason !== null) {
      this.#reason = reading.reason;
      return;
    }
    this.#told += 1;
    this.#worst =
      this.#worst === undefined ? reading.value : this.#pick(this.#worst, reading.value);
  }

  result(): Reading<T> {
    if (this.#worst === undefined) return unknown(this.#reason);
    if (this.#told >= this.#asked * TOLD_SHARE) return known(this.#worst);
    return unknown(`told in ${this.#told} of ${this.#asked} samples only: ${this.#reason}`);
  }
}

/** Growth of a running total between the first and the last time that it was told. */
class Growth {
  #first: Counted | undefined;
  #last: Counted | undefined;
  #reason = "no sample was taken";

  add(reading: Reading<Counted> | null): void {
    if (reading === null) return;
    if (reading.reason !== null) {
      this.#reason = reading.reason;
      return;
    }
    this.#first ??= reading.value;
    this.#last = reading.value;
  }

  /** By millisecond. */
  rate(): Reading<number> {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return unknown(this.#reason);
    const passed_ms = last.at_ms - first.at_ms;
    if (passed_ms < SHORTEST_RATE_MS) return unknown("the window is too short for a rate");
    if (last.total < first.total) return unknown("a running total went backwards");
    return known((last.total - first.total) / passed_ms);
  }
}

/** What a host took of its guest between the first and the last look. */
class Stolen {
  #first: ProcessorTime | undefined;
  #last: ProcessorTime | undefined;
  #reason: string | undefined;

  add(reading: Reading<ProcessorTime> | null): void {
    if (reading === null) return;
    if (reading.reason !== null) {
      this.#reason = reading.reason;
      return;
    }
    this.#first ??= reading.value;
    this.#last = reading.value;
  }

  /** Undefined where nobody asked: no virtual machine. */
  share(): Reading<number> | undefined {
    const [first, last] = [this.#first, this.#last];
    if (this.#reason !== undefined) return unknown(this.#reason);
    if (first === undefined || last === undefined) return undefined;
    const total = last.total - first.total;
    return known(total <= 0 ? 0 : (last.stolen - first.stolen) / total);
  }
}

interface Peak {
  used: Worst<number>;
  total_mb: number | null;
}

/** Each GPU by its id; one that vanishes in mid-window is not told any more, and so unknown. */
class GpuPeaks {
  readonly #peaks = new Map<string, Peak>();
  readonly #list = new Worst<number>(Math.max);

  add(reading: Reading<readonly GpuMemory[]>): void {
    this.#list.add(reading.value === null ? reading : known(reading.value.length));
    if (reading.value === null) return;
    const seen = new Map(reading.value.map((gpu) => [gpu.id, gpu]));
    for (const id of seen.keys()) {
      if (!this.#peaks.has(id)) this.#peaks.set(id, { used: new Worst(Math.max), total_mb: null });
    }
    for (const [id, peak] of this.#peaks) {
      const gpu = seen.get(id);
      const used = gpu?.used_mb ?? null;
      peak.total_mb = gpu?.total_mb ?? peak.total_mb;
      const reason = gpu === undefined ? `GPU ${id} is gone` : (gpu.reason ?? `GPU ${id} is mute`);
      peak.used.add(used === null ? unknown(reason) : known(used));
    }
  }

  /** The list, and why an amount in it is null. */
  result(): { gpus: Reading<RecordedGpu[]>; reason: string | null } {
    const list = this.#list.result();
    if (list.value === null) return { gpus: list, reason: list.reason };
    let reason: string | null = null;
    const gpus = [...this.#peaks].map(([id, { used, total_mb }]) => {
      const peak = used.result();
      reason ??= peak.reason;
      return { id, used_peak_mb: peak.value, total_mb };
    });
    return { gpus: known(gpus), reason };
  }
}

/** The longer stall of host and control group; one of them is enough to know it. */
function longer(host: Reading<number>, group: Reading<number>): Reading<number> {
  if (host.value === null) return group.value === null ? host : group;
  return group.value === null || group.value < host.value ? host : group;
}

function rounded(value: number | null, digits: number): number | null {
  return value === null ? null : Math.round(value * 10 ** digits) / 10 ** digits;
}

/** All samples between two moments, put together. */
export class BoundWindow {
  #samples = 0;
  readonly #used = new Worst<number>(Math.max);
  readonly #total = new Worst<number>(Math.max);
  readonly #group = new Worst<number>(Math.max);
  readonly #pressure = new Worst<PressureLevel>(worse);
  readonly #throttled = new Worst<boolean>((a, b) => a || b);
  readonly #gpus = new GpuPeaks();
  readonly #swapped = new Growth();
  readonly #stalled = new Growth();
  readonly #group_stalled = new Growth();
  readonly #stolen = new Stolen();
  #limit_mb: number | null = null;
  #slowed = false;

  add(sample: BoundSample): void {
    this.#samples += 1;
    this.#used.add(sample.host_used_mb);
    this.#total.add(sample.host_total_mb);
    const { cgroup } = sample;
    if (cgroup.value !== null && cgroup.value !== "none") this.#limit_mb = cgroup.value.limit_mb;
    const used = cgroup.value === "none" ? 0 : cgroup.value?.used_mb;
    this.#group.add(used === undefined ? unknown(cgroup.reason ?? "?") : known(used));
    this.#gpus.add(sample.gpus);
    this.#swapped.add(sample.swapped_out);
    this.#stalled.add(sample.stalled);
    this.#group_stalled.add(sample.group_stalled);
    this.#pressure.add(sample.pressure);
    this.#throttled.add(sample.throttled);
    this.#stolen.add(sample.stolen);
    this.#slowed ||= sample.throttled.value === true;
  }

  result(): RecordedReadings {
    const unavailable: Record<string, string> = {};
    const take = <T>(name: string, reading: Reading<T>): T | null => {
      if (reading.reason !== null) unavailable[name] = reading.reason;
      return reading.value;
    };
    const { gpus, reason } = this.#gpus.result();
    if (reason !== null) unavailable["gpus"] = reason;
    const group_mb = take("cgroup_used_peak_mb", this.#group.result());
    const swap_ms = take("swap_out_mb_per_min", this.#swapped.rate());
    const stall = longer(this.#stalled.rate(), this.#group_stalled.rate());
    const share = take("pressure_stall_share", stall);
    const stolen = this.#stolen.share();
    const taken = stolen === undefined ? undefined : take("stolen_time_share", stolen);
    return {
      samples: this.#samples,
      host_used_peak_mb: take("host_used_peak_mb", this.#used.result()),
      host_total_mb: take("host_total_mb", this.#total.result()),
      cgroup_used_peak_mb: this.#limit_mb === null ? null : group_mb,
      cgroup_limit_mb: this.#limit_mb,
      gpus: gpus.value,
      swap_out_mb_per_min: rounded(swap_ms === null ? null : swap_ms * 60_000, 3),
      pressure_stall_share: rounded(share === null ? null : Math.min(1, share), 4),
      pressure_level: take("pressure_level", this.#pressure.result()),
      // Seen once is enough, however often it could not be seen.
      throttled: this.#slowed || take("throttled", this.#throttled.result()),
      ...(taken === undefined ? {} : { stolen_time_share: rounded(taken, 4) }),
      unavailable,
    };
  }
}
