import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readJsonLines } from "../../../src/core/files.ts";
import type { HostSample, ResourceTick } from "../../../src/probes/index.ts";
import {
  runSamplerLoop,
  type SamplerLoopOptions,
  type SamplerMessage,
} from "../../../src/probes/sampler-loop.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

interface Stage {
  clock: FakeClock;
  input: PassThrough;
  stop: AbortController;
  messages: SamplerMessage[];
  path: string;
  closed: () => boolean;
  done: Promise<void>;
  /** Moves the clock and lets the loop do what is due. */
  pass(ms: number): Promise<void>;
  ticks(): ResourceTick[];
}

function sampleOf(ts: number, used: number | null): HostSample {
  return {
    ts,
    sys_used_mb: used,
    sys_available_mb: 1,
    swap_used_mb: 0,
    server_rss_mb: null,
    mem_pressure_level: "normal",
    throttled: null,
    cpu_pct: null,
    gpu_used_mb: null,
    unavailable: {},
  };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i += 1) await turn();
};

/** Runs the loop over a host whose memory in use is told by `used`, one number a look. */
function stage(
  used: (look: number) => number | null,
  more: Partial<SamplerLoopOptions> = {},
): Stage {
  const clock = new FakeClock();
  const input = new PassThrough();
  const stop = new AbortController();
  const messages: SamplerMessage[] = [];
  const path = join(tempDir(), "resources.jsonl");
  let looks = 0;
  let closed = false;
  const done = runSamplerLoop({
    path,
    invocation: "INV",
    clock,
    input,
    signal: stop.signal,
    say: (message) => messages.push(message),
    sampler: {
      ready: async () => {},
      sample: () => sampleOf(clock.now_ms() / 1000, used(looks++)),
      close: () => (closed = true),
    },
    ...more,
  });
  return {
    clock,
    input,
    stop,
    messages,
    path,
    closed: () => closed,
    done,
    async pass(ms) {
      await settle();
      // In small steps, as real time passes.
      for (let left = ms; left > 0; left -= 50) {
        clock.advance(Math.min(50, left));
        await settle();
      }
    },
    ticks: () => readJsonLines(path) as ResourceTick[],
  };
}

describe("runSamplerLoop", () => {
  it("says ready after three baseline lines, with the least of them", async () => {
    const s = stage((look) => [300, 200, 250][look] ?? 900);
    await s.pass(450);
    expect(s.messages).toEqual([]);
    await s.pass(50);
    expect(s.ticks().map((tick) => [tick.baseline, tick.phase, tick.sys_used_mb])).toEqual([
      [true, "start", 300],
      [true, "start", 200],
      [true, "start", 250],
    ]);
    expect(s.messages).toEqual([{ ready: true, invocation: "INV", baseline: s.ticks()[1] }]);
    s.input.end();
    await s.done;
  });

  it("samples twice a second without drift, and marks no later line as baseline", async () => {
    const s = stage(() => 100);
    await s.pass(500 + 10_000);
    const later = s.ticks().slice(3);
    expect(later).toHaveLength(20);
    const first = later[0]?.ts ?? 0;
    later.forEach((tick, i) => expect(tick.ts - first).toBeCloseTo(i * 0.5, 6));
    expect(later.every((tick) => !tick.baseline && tick.phase === undefined)).toBe(true);
    expect(s.ticks().every((tick) => tick.invocation === "INV")).toBe(true);
    s.input.end();
    await s.done;
  });

  it("keeps to its grid when it woke late, and makes up for nothing it slept through", async () => {
    const s = stage(() => 100);
    await s.pass(500);
    const start = s.clock.monotonic_ms();
    s.clock.advance(620);
    await s.pass(380);
    expect(s.ticks().slice(3)).toHaveLength(2);
    s.clock.advance(60_000);
    await s.pass(500);
    const at = s
      .ticks()
      .slice(3)
      .map((tick) => Math.round(tick.ts * 1000) % 500);
    expect(s.ticks().slice(3).length).toBeLessThanOrEqual(5);
    expect(new Set(at.slice(-1))).toEqual(new Set([((s.ticks()[2]?.ts ?? 0) * 1000) % 500]));
    expect(s.clock.monotonic_ms() - start).toBe(61_500);
    s.input.end();
    await s.done;
  });

  it("takes a second baseline on request", async () => {
    const s = stage((look) => 1000 - look);
    await s.pass(1000);
    s.input.write('not json\n{"mark":"other"}\n{"mark":"ste');
    s.input.write('ady"}\n');
    await s.pass(1000);
    const steady = s.ticks().filter((tick) => tick.phase === "steady");
    expect(steady).toHaveLength(3);
    expect(steady.every((tick) => tick.baseline)).toBe(true);
    expect(s.messages.at(-1)).toEqual({ mark: "steady", baseline: steady[2] });
    await s.pass(500);
    expect(s.ticks().at(-1)?.baseline).toBe(false);
    s.input.end();
    await s.done;
  });

  it("takes any line for the baseline where memory cannot be read", async () => {
    const s = stage(() => null);
    await s.pass(500);
    const [message] = s.messages;
    expect(message).toMatchObject({ ready: true, baseline: { sys_used_mb: null } });
    s.input.end();
    await s.done;
  });

  it("appends to what is there and cuts off half a line", async () => {
    const folder = tempDir();
    const path = join(folder, "resources.jsonl");
    writeFileSync(path, '{"old":1}\n{"half":');
    const s = stage(() => 5, { path });
    await s.pass(500);
    s.input.end();
    await s.done;
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines[0]).toBe('{"old":1}');
    expect(readJsonLines(path)).toHaveLength(4);
  });

  it.each(["input", "signal"])("ends at once at the end of its %s", async (what) => {
    const s = stage(() => 5);
    await s.pass(600);
    if (what === "input") s.input.destroy();
    else s.stop.abort();
    await s.done;
    expect(s.closed()).toBe(true);
    expect(s.messages.at(-1)).toEqual({ ended: true, ticks: 3, lost: 0, error: null });
  });

  it("ends without ready where it is told to during the baseline", async () => {
    const s = stage(() => 5);
    await s.pass(100);
    s.stop.abort();
    await s.done;
    expect(s.messages).toEqual([{ ended: true, ticks: 1, lost: 0, error: null }]);
  });

  it("says once that the disk is full, goes on, and says when it is over", async () => {
    let full = false;
    const written: unknown[] = [];
    const open = () => ({
      append: (value: unknown) => {
        if (full) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        written.push(value);
      },
      close: () => {},
    });
    const s = stage(() => 5, { open });
    await s.pass(1000);
    full = true;
    await s.pass(2000);
    full = false;
    await s.pass(500);
    s.input.end();
    await s.done;
    expect(s.messages.slice(1)).toEqual([
      { error: `${s.path}: ENOSPC` },
      { recovered: true, lost: 4 },
      { ended: true, ticks: 5, lost: 4, error: `${s.path}: ENOSPC` },
    ]);
    expect(written).toHaveLength(5);
  });

  it("is not ready before the baseline is on the disk", async () => {
    let full = true;
    const open = () => ({
      append: () => {
        if (full) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      },
      close: () => {},
    });
    const s = stage(() => 5, { open });
    await s.pass(5000);
    expect(s.messages).toEqual([{ error: `${s.path}: ENOSPC` }]);
    full = false;
    await s.pass(1000);
    expect(s.messages.map((message) => Object.keys(message)[0])).toEqual([
      "error",
      "recovered",
      "ready",
    ]);
    s.input.end();
    await s.done;
  });
});
