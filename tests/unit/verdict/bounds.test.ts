import { describe, expect, test } from "vitest";
import { clientBreaches, readingBreaches, startBreaches } from "../../../src/verdict/bounds.ts";
import { DEFAULT_BOUNDS } from "../../../src/verdict/index.ts";
import type { Readings } from "../../../src/verdict/index.ts";
import { quietReadings } from "../../helpers/quiet-readings.ts";
import { CLIENT, started } from "./records.ts";

const broken = (over: Partial<Readings>, one: Partial<Readings> | null = {}): string[] =>
  readingBreaches(
    2,
    quietReadings(over),
    one === null ? null : quietReadings(one),
    DEFAULT_BOUNDS,
  ).map(({ bound, reason }) => `${bound}: ${reason}`);

describe("readings of a level", () => {
  test("healthy ones break nothing", () => {
    expect(broken({})).toEqual([]);
  });

  test.each<[string, Partial<Readings>, string]>([
    [
      "host memory",
      { host_used_peak_mb: 26_000 },
      "host_memory: memory of the host rose to 26.0 GB of 32.0 GB; the ceiling is 80 % (25.6 GB)",
    ],
    [
      "a GPU against its own memory, however large the host's is",
      { gpus: [{ id: "0 RTX", used_peak_mb: 7000, total_mb: 8000 }] },
      "gpu_memory: memory of GPU 0 RTX rose to 7.0 GB of 8.0 GB; the ceiling is 80 % (6.4 GB)",
    ],
    [
      "a control group's limit",
      { cgroup_limit_mb: 8000, cgroup_used_peak_mb: 7000 },
      "cgroup_memory: memory of the control group rose to 7.0 GB of 8.0 GB; the ceiling is 80 % (6.4 GB)",
    ],
    [
      "swapping",
      { swap_out_mb_per_min: 70 },
      "swap: 70 MB a minute were swapped out; 64 are allowed (one slot: 0)",
    ],
    [
      "stalls",
      { pressure_stall_share: 0.125 },
      "pressure: tasks stood still for want of memory 12.5 % of the time; 10 % is allowed",
    ],
    [
      "the system's own word for it",
      { pressure_stall_share: null, pressure_level: "warn" },
      `pressure: the system's memory pressure rose to "warn"`,
    ],
    ["heat", { throttled: true }, "throttled: the processor was throttled"],
    ["somebody else", { alone: false }, "alone: somebody else used the device"],
    ["a failed turn", { failed_turns: 1 }, "failed_turns: 1 turn failed"],
    ["cut prompts", { cut_prompts: 2 }, "cut_prompts: 2 turns had a prompt cut"],
    [
      "shifted contexts",
      { context_shifts: 2 },
      "context_shifts: 2 turns lost the beginning of the context",
    ],
    [
      "answers without an end",
      { unfinished_turns: 3 },
      "unfinished_turns: 3 turns ended without a finish",
    ],
    ["evictions", { evicted_turns: 1 }, "evicted_turns: 1 turn lost the slot to another"],
    [
      "a reload",
      { model_reloads: 1 },
      "model_reloads: the runner loaded a model 1 time in between",
    ],
  ])("%s", (_, over, sentence) => {
    expect(broken(over)).toEqual([sentence]);
  });

  test.each<[keyof Readings, string]>([
    ["host_used_peak_mb", "host_memory"],
    ["host_total_mb", "host_memory"],
    ["gpus", "gpu_memory"],
    ["swap_out_mb_per_min", "swap"],
    ["throttled", "throttled"],
    ["alone", "alone"],
    ["cut_prompts", "cut_prompts"],
    ["context_shifts", "context_shifts"],
    ["evicted_turns", "evicted_turns"],
    ["model_reloads", "model_reloads"],
  ])("%s that cannot be read breaks %s, with the probe's reason", (name, bound) => {
    const found = broken({ [name]: null, unavailable: { [name]: "the file is not there" } });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${bound}: .*cannot be read: the file is not there$`));
  });

  test("no control group's limit is healthy, an unreadable one is not", () => {
    const hidden = { unavailable: { cgroup_limit_mb: "permission denied" } };
    expect(broken(hidden)[0]).toContain("control group cannot be read: permission denied");
    expect(broken({ cgroup_limit_mb: 8000 })[0]).toContain("cannot be read");
  });

  test("either sign of pressure is enough, none is not", () => {
    expect(broken({ pressure_stall_share: null, pressure_level: "normal" })).toEqual([]);
    expect(broken({ pressure_stall_share: null })[0]).toContain("memory pressure cannot be read");
  });

  test("a virtual machine is told nothing of heat: what its host takes counts in its place", () => {
    const guest = { throttled: null, unavailable: { throttled: "no heat is seen" } };
    expect(broken({ ...guest, stolen_time_share: 0.04 })).toEqual([]);
    expect(broken({ ...guest, stolen_time_share: 0.12 })).toEqual([
      "stolen_time: the host took 12 % of this virtual machine's processor time for others; 5 % is allowed (one slot: 0 %)",
    ]);
    expect(broken({ ...guest, stolen_time_share: null })).toEqual([
      "throttled: whether the processor was throttled cannot be read: no heat is seen",
    ]);
    // A guest that has a card of its own may still see that one throttled.
    expect(broken({ throttled: true, stolen_time_share: 0 })[0]).toContain("throttled");
  });

  test("a GPU that hides its memory, and memory that was never sampled", () => {
    const gpu = { id: "0", used_peak_mb: null, total_mb: 8000 };
    expect(broken({ gpus: [gpu] })).toEqual(["gpu_memory: memory of GPU 0 cannot be read"]);
    expect(broken({ samples: 0 })).toEqual(["host_memory: memory was never sampled"]);
  });

  test("what one slot does already is allowed to grow so far", () => {
    expect(broken({ swap_out_mb_per_min: 190 }, { swap_out_mb_per_min: 100 })).toEqual([]);
    expect(broken({ swap_out_mb_per_min: 210 }, { swap_out_mb_per_min: 100 })).toHaveLength(1);
    expect(broken({ pressure_level: "warn" }, { pressure_level: "warn" })).toEqual([]);
    expect(broken({ pressure_level: "critical" }, { pressure_level: "critical" })).toHaveLength(1);
    expect(broken({ stolen_time_share: 0.18 }, { stolen_time_share: 0.1 })).toEqual([]);
    expect(broken({ stolen_time_share: 0.21 }, { stolen_time_share: 0.1 })).toHaveLength(1);
    // What one slot does is not known: nothing is allowed for it.
    expect(broken({ swap_out_mb_per_min: 100 }, { swap_out_mb_per_min: null })).toHaveLength(1);
    expect(broken({ swap_out_mb_per_min: 100 }, null)).toHaveLength(1);
  });
});

describe("a start", () => {
  const asked = { slots: 4, context_per_slot: 8192, host_total_mb: 32_000 };
  const found = (over: Parameters<typeof started>[1], host_total_mb: number | null = 32_000) =>
    startBreaches(started(4, over), { ...asked, host_total_mb }, DEFAULT_BOUNDS).map(
      ({ bound, reason }) => `${bound}: ${reason}`,
    );

  test("as asked breaks nothing; more slots than asked neither", () => {
    expect(found({})).toEqual([]);
    expect(found({ slots_read: 8 })).toEqual([]);
  });

  test("that does not load is a breach with its reason, and nothing else", () => {
    const failed = { loaded: false, failure: "out of memory", slots_read: null };
    expect(found(failed)).toEqual(["load: the model does not load: out of memory"]);
  });

  test("fewer slots or less context than asked, or unreadable, is a breach", () => {
    expect(found({ slots_read: 1 })).toEqual(["slots: 4 slots were asked for and 1 given"]);
    expect(found({ slots_read: null })[0]).toContain("cannot be read");
    expect(found({ context_read: 4096 })).toEqual([
      "context: 8192 tokens of context for each slot were asked for and 4096 given",
    ]);
    expect(found({ context_read: null })[0]).toContain("cannot be read");
  });

  test("memory that loading alone fills is a breach, where the host's is known", () => {
    expect(found({ memory_loaded_mb: 26_000 })[0]).toContain("with the model just loaded");
    expect(found({ memory_loaded_mb: 26_000 }, null)).toEqual([]);
    const gpus_loaded = [{ id: "0", used_peak_mb: 7500, total_mb: 8000 }];
    expect(found({ gpus_loaded })[0]).toContain("memory of GPU 0 rose to 7.5 GB");
  });
});

describe("the client", () => {
  const found = (over: Partial<typeof CLIENT>) =>
    clientBreaches(2, { ...CLIENT, ...over }).map(({ reason }) => reason);

  test("that keeps up breaks nothing", () => {
    expect(found({})).toEqual([]);
  });

  test("that is slow measures itself", () => {
    expect(found({ in_flight_share: 0.8 })).toEqual([
      "only 80 % of the requests were in flight; 90 % is needed",
    ]);
    expect(found({ event_loop_delay_p99_ms: 400 })[0]).toContain("late by 400 ms");
    expect(found({ cpu_share: 0.95 })[0]).toContain("used 95 % of a core");
  });

  test("that cannot say is not trusted", () => {
    expect(clientBreaches(2, null)).toHaveLength(3);
    expect(
      found({ in_flight_share: null, event_loop_delay_p99_ms: null, cpu_share: null }),
    ).toHaveLength(3);
  });
});
