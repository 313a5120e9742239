import { describe, expect, it } from "vitest";
import type { BoundSample } from "../../../src/probes/bound-sample.ts";
import { BoundWindow } from "../../../src/probes/bound-window.ts";
import { known, unknown } from "../../../src/probes/reading.ts";
import { QUIET_SERVER } from "../../helpers/quiet-readings.ts";
import { readingsSchema } from "../../../src/verdict/index.ts";

const GPU = { id: "0 NVIDIA H200", used_mb: 100, total_mb: 1000, reason: null };

const WELL: BoundSample = {
  host_used_mb: known(1000),
  host_total_mb: known(8000),
  cgroup: known("none"),
  gpus: known([]),
  swapped_out: null,
  stalled: null,
  group_stalled: null,
  pressure: known("normal"),
  throttled: known(false),
  stolen: null,
};

function over(...samples: Partial<BoundSample>[]) {
  const window = new BoundWindow();
  for (const sample of samples) window.add({ ...WELL, ...sample });
  return window.result();
}

const swapped = (total: number, at_ms: number) => ({ swapped_out: known({ total, at_ms }) });
const stalled = (total: number, at_ms: number) => ({ stalled: known({ total, at_ms }) });

const taken = (stolen: number, total: number) => ({ stolen: known({ stolen, total }) });

describe("BoundWindow", () => {
  it("tells what a host took between the edges of the window, where there is one", () => {
    expect(over(taken(50, 1000), {}, taken(80, 1400)).stolen_time_share).toBe(0.075);
    expect(over(taken(50, 1000), taken(50, 1000)).stolen_time_share).toBe(0);
    expect(over({}, {})).not.toHaveProperty("stolen_time_share");
    const mute = over(taken(50, 1000), { stolen: unknown("gone") });
    expect(mute.stolen_time_share).toBeNull();
    expect(mute.unavailable["stolen_time_share"]).toBe("gone");
  });

  it("gives the worst of each reading, in the form in which a sweep records it", () => {
    const readings = over(
      { ...swapped(100, 0), ...stalled(10_000, 0) },
      { host_used_mb: known(3000), pressure: known("warn"), throttled: known(true) },
      { ...swapped(150, 30_000), ...stalled(13_000, 30_000), host_used_mb: known(2000) },
    );
    expect(readings).toEqual({
      samples: 3,
      host_used_peak_mb: 3000,
      host_total_mb: 8000,
      cgroup_used_peak_mb: null,
      cgroup_limit_mb: null,
      gpus: [],
      swap_out_mb_per_min: 100,
      pressure_stall_share: 0.1,
      pressure_level: "warn",
      throttled: true,
      unavailable: {},
    });
    expect(readingsSchema.safeParse({ ...readings, ...QUIET_SERVER }).success).toBe(true);
  });

  it("keeps the control group apart from the host", () => {
    const group = (used_mb: number) => ({ cgroup: known({ used_mb, limit_mb: 2000 }) });
    expect(over(group(500), group(1900), group(700))).toMatchObject({
      host_used_peak_mb: 1000,
      cgroup_used_peak_mb: 1900,
      cgroup_limit_mb: 2000,
    });
    const lost = over({ cgroup: unknown("memory limit: EACCES") });
    expect(lost).toMatchObject({ cgroup_used_peak_mb: null, cgroup_limit_mb: null });
    expect(lost.unavailable["cgroup_used_peak_mb"]).toBe("memory limit: EACCES");
  });

  it("keeps each GPU apart from the others", () => {
    const second = { ...GPU, id: "1 NVIDIA H200", used_mb: 900 };
    const readings = over(
      { gpus: known([GPU, second]) },
      { gpus: known([{ ...GPU, used_mb: 300 }, second]) },
    );
    expect(readings.gpus).toEqual([
      { id: "0 NVIDIA H200", used_peak_mb: 300, total_mb: 1000 },
      { id: "1 NVIDIA H200", used_peak_mb: 900, total_mb: 1000 },
    ]);
    expect(readings.unavailable).not.toHaveProperty("gpus");
  });

  it("does not know a GPU that does not tell, or that is gone", () => {
    const mute = { ...GPU, used_mb: null, reason: "GPU 0 NVIDIA H200 is cut into instances" };
    const cut = over({ gpus: known([mute]) });
    expect(cut.gpus).toEqual([{ id: "0 NVIDIA H200", used_peak_mb: null, total_mb: 1000 }]);
    expect(cut.unavailable["gpus"]).toContain("instances");
    const gone = over({ gpus: known([GPU]) }, { gpus: known([]) });
    expect(gone.gpus?.[0]?.used_peak_mb).toBeNull();
    expect(gone.unavailable["gpus"]).toContain("is gone");
    const none = over({ gpus: unknown("nvidia-smi ended") });
    expect(none.gpus).toBeNull();
    expect(none.unavailable["gpus"]).toBe("nvidia-smi ended");
  });

  it("forgives a hiccup, and no more than that", () => {
    const hiccup = { host_used_mb: unknown("EIO") };
    const nine = Array.from({ length: 9 }, () => ({}));
    expect(over(hiccup, ...nine).host_used_peak_mb).toBe(1000);
    const worse = over(hiccup, hiccup, ...nine);
    expect(worse.host_used_peak_mb).toBeNull();
    expect(worse.unavailable["host_used_peak_mb"]).toBe("told in 9 of 11 samples only: EIO");
  });

  it("knows of throttling that was seen once, however seldom it could be seen", () => {
    const blind = { throttled: unknown("no counters") };
    expect(over(blind, blind, { throttled: known(true) })).toMatchObject({
      throttled: true,
      unavailable: {},
    });
    const readings = over(blind, blind);
    expect(readings.throttled).toBeNull();
    expect(readings.unavailable["throttled"]).toBe("no counters");
  });

  it("makes no rate of too little, of nothing and of a total that went back", () => {
    const rate = (...samples: Partial<BoundSample>[]) => {
      const { swap_out_mb_per_min: value, unavailable } = over(...samples);
      return [value, unavailable["swap_out_mb_per_min"]];
    };
    expect(rate(swapped(1, 0), swapped(2, 49))).toEqual([
      null,
      "the window is too short for a rate",
    ]);
    expect(rate({})).toEqual([null, "no sample was taken"]);
    expect(rate(swapped(2, 0), swapped(1, 5000))).toEqual([null, "a running total went backwards"]);
    expect(rate({ swapped_out: unknown("no pswpout") })).toEqual([null, "no pswpout"]);
    expect(rate(swapped(0, 0), {}, swapped(0, 5000))).toEqual([0, undefined]);
  });

  it("takes the longer stall of host and control group, and never more than the whole time", () => {
    const group = (total: number, at_ms: number) => ({ group_stalled: known({ total, at_ms }) });
    const share = (...samples: Partial<BoundSample>[]) => over(...samples).pressure_stall_share;
    const [start, end] = [stalled(900_000, 0), stalled(900_500, 10_000)];
    expect(share(start, end)).toBe(0.05);
    expect(share({ ...start, ...group(5, 0) }, { ...end, ...group(4005, 10_000) })).toBe(0.4);
    expect(share({ ...start, ...group(5, 0) }, { ...end, ...group(5, 10_000) })).toBe(0.05);
    expect(share({ ...start, ...group(0, 0) }, { ...end, ...group(99_999, 10_000) })).toBe(1);
    const blind = { stalled: unknown("no PSI") };
    expect(share({ ...blind, ...group(0, 0) }, { ...blind, ...group(1000, 10_000) })).toBe(0.1);
    expect(over(blind).unavailable["pressure_stall_share"]).toBe("no PSI");
  });
});
