import { join } from "node:path";
import { rmSync, symlinkSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createReadingsRecorder } from "../../../src/probes/index.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { cardFiles } from "../../helpers/device-host.ts";
import { plant, recorded } from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

const meminfo = (available_kb: number) =>
  `MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: ${available_kb} kB\n`;
const psi = (total: number, some = 0) =>
  `some avg10=${some}.00 avg60=0.00 avg300=0.00 total=${total}\n` +
  "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
const HOST = {
  "/proc/meminfo": meminfo(7_000_000),
  "/proc/vmstat": "pswpin 5\npswpout 1000\n",
  "/proc/pressure/memory": psi(5_000_000),
  "/proc/self/cgroup": "0::/slice\n",
  "/proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
  ...cardFiles("0000:00:00.0", "0x8086", "0x1237", "0x060000"),
};
const THROTTLE = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";

function recorderOn(files: Record<string, string>, server_pid: number | null = null) {
  const root = tempDir();
  plant(root, { ...HOST, ...files });
  const clock = new FakeClock();
  const options = { clock, server_pid, platform: "linux", root, env: { PATH: "" } } as const;
  const recorder = createReadingsRecorder(options);
  onTestFinished(() => recorder.close());
  const wait = async (ms: number) => {
    clock.advance(ms);
    await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { root, clock, recorder, wait };
}

/** The readings of a window over `files`, with `changes` in its middle. */
async function windowOf(files: Record<string, string>, changes: Record<string, string> = {}) {
  const { root, recorder, wait } = recorderOn(files);
  recorder.start();
  await wait(500);
  plant(root, changes);
  await wait(500);
  await wait(5000);
  return recorder.stop();
}

describe("createReadingsRecorder on Linux", () => {
  it("looks at the beginning, twice a second, and at the end", async () => {
    const { root, recorder, wait } = recorderOn({});
    await recorder.ready(1);
    recorder.start();
    for (let tick = 0; tick < 10; tick += 1) {
      plant(root, { "/proc/meminfo": meminfo(tick === 4 ? 2_000_000 : 6_000_000) });
      await wait(500);
    }
    plant(root, { "/proc/vmstat": "pswpout 3000\n", "/proc/pressure/memory": psi(6_000_000) });
    expect(recorder.stop()).toEqual({
      samples: 12,
      host_used_peak_mb: 6144,
      host_total_mb: 8192,
      cgroup_used_peak_mb: null,
      cgroup_limit_mb: null,
      gpus: [],
      // 2000 pages of 4096 bytes and one second of standing still, in five seconds.
      swap_out_mb_per_min: 98.304,
      pressure_stall_share: 0.2,
      pressure_level: "normal",
      throttled: null,
      unavailable: {
        throttled: "this machine has neither throttle counters nor a CPU cooling device",
      },
    });
  });

  it("leaves out what was slept through, and takes one more look when asked", async () => {
    const { recorder, wait } = recorderOn({});
    recorder.start();
    await wait(60_000);
    await wait(500);
    recorder.look();
    expect(recorder.stop().samples).toBe(5);
  });

  it("keeps windows apart", async () => {
    const { root, recorder, wait } = recorderOn({ [THROTTLE]: "7\n" });
    recorder.start();
    await wait(500);
    plant(root, { [THROTTLE]: "8\n", "/proc/meminfo": meminfo(1_000_000) });
    await wait(500);
    expect(recorder.stop()).toMatchObject({ throttled: true, host_used_peak_mb: 7168 });
    plant(root, { "/proc/meminfo": meminfo(7_000_000), [THROTTLE]: "9\n" });
    await wait(10_000);
    recorder.start();
    await wait(2000);
    expect(recorder.stop()).toMatchObject({ throttled: false, host_used_peak_mb: 1024 });
    expect(() => recorder.stop()).toThrow("no window");
  });

  it("reads limit, use and stalls of the control group", async () => {
    const group = "/sys/fs/cgroup/slice";
    const readings = await windowOf(
      {
        [`${group}/memory.max`]: "4000000000\n",
        [`${group}/memory.current`]: "1000000000\n",
        [`${group}/memory.stat`]: "inactive_file 200000000\n",
        [`${group}/memory.pressure`]: psi(0),
      },
      {
        [`${group}/memory.current`]: "3700000000\n",
        [`${group}/memory.pressure`]: psi(3_000_000, 15),
      },
    );
    expect(readings).toMatchObject({
      cgroup_used_peak_mb: 3500,
      cgroup_limit_mb: 4000,
      host_used_peak_mb: 1024,
      pressure_stall_share: 0.5,
      pressure_level: "warn",
    });
  });

  it("goes by the control group of the server where that is known", async () => {
    const { root, recorder, wait } = recorderOn(
      {
        "/proc/77/cgroup": "0::/server\n",
        "/sys/fs/cgroup/server/memory.max": "2000000000\n",
        "/sys/fs/cgroup/server/memory.current": "900000000\n",
        "/sys/fs/cgroup/server/memory.stat": "inactive_file 0\n",
      },
      77,
    );
    recorder.start();
    await wait(500);
    rmSync(join(root, "proc/77"), { recursive: true });
    expect(recorder.stop()).toMatchObject({ cgroup_used_peak_mb: 900, cgroup_limit_mb: 2000 });
  });

  it("gives null and a reason for each where nothing can be read", async () => {
    const clock = new FakeClock();
    const options = { clock, server_pid: null, root: tempDir(), env: { PATH: "" } };
    for (const platform of ["linux", "freebsd"] as const) {
      const recorder = createReadingsRecorder({ ...options, platform });
      await recorder.ready(1);
      recorder.start();
      const { samples, unavailable, ...fields } = recorder.stop();
      recorder.close();
      expect(samples).toBe(2);
      expect(new Set(Object.values(fields))).toEqual(new Set([null]));
      const names = Object.keys(fields).filter((name) => name !== "cgroup_limit_mb");
      expect(Object.keys(unavailable).sort()).toEqual(names.sort());
    }
  });

  it("goes by what the host takes in a virtual machine, which sees no heat", async () => {
    const stat = (busy: number, stolen: number) => `cpu  ${busy} 0 0 1000 0 0 0 ${stolen} 0 0\n`;
    const guest = { "/proc/cpuinfo": "flags : fpu hypervisor\n", "/proc/stat": stat(0, 500) };
    const after = (busy: number, stolen: number) =>
      windowOf(guest, { "/proc/stat": stat(busy, stolen) });
    expect(await after(960, 540)).toMatchObject({ throttled: null, stolen_time_share: 0.04 });
    const taken = await after(900, 600);
    expect(taken).toMatchObject({ throttled: null, stolen_time_share: 0.1 });
    expect(taken.unavailable["throttled"]).toContain("sees no heat");
    const mute = await windowOf({ ...guest, "/proc/stat": "cpu  1 2 3 4\n" });
    expect(mute.stolen_time_share).toBeNull();
    expect(mute.unavailable["stolen_time_share"]).toContain("what the host takes");
    // A machine of its own has no host.
    expect(await windowOf({ "/proc/stat": stat(0, 0) })).not.toHaveProperty("stolen_time_share");
    // Where the guest has counters of its own, they count.
    const own = await windowOf({ ...guest, [THROTTLE]: "1\n" }, { [THROTTLE]: "2\n" });
    expect(own.throttled).toBe(true);
  });

  it("says how to get pressure where the kernel keeps none", async () => {
    const readings = await windowOf({ "/proc/pressure/memory": "" });
    expect(readings).toMatchObject({ pressure_stall_share: null, pressure_level: null });
    expect(readings.unavailable["pressure_stall_share"]).toContain("psi=1");
  });
});

const CARD = "/sys/class/drm/card0/device";

/** A GPU inside a processor, with `vram` reserved for it and `gtt` more that it may take. */
const inside = (format: string, vram: number, gtt: number) => ({
  ...cardFiles("0000:c1:00.0", "0x1002", "0x1586"),
  [`${CARD}/device`]: "0x1586\n",
  [`${CARD}/mem_info_vram_used`]: "400000000\n",
  [`${CARD}/mem_info_vram_total`]: `${vram}\n`,
  [`${CARD}/mem_info_gtt_total`]: `${gtt}\n`,
  [`${CARD}/gpu_metrics`]: `xx${format}\u0000`,
});

describe("memory of GPUs on Linux", () => {
  it("is read for each AMD card apart from the host's", async () => {
    const vram = recorded("linux/rocm-smi/10-rx6700xt-rocm612.json");
    const [, total = ""] = /"VRAM Total Memory \(B\)": "(\d+)"/.exec(vram) ?? [];
    const [, used = ""] = /"VRAM Total Used Memory \(B\)": "(\d+)"/.exec(vram) ?? [];
    const files = {
      ...cardFiles("0000:07:00.0", "0x1002", "0x73df"),
      [`${CARD}/device`]: "0x73df\n",
      [`${CARD}/mem_info_vram_total`]: `${total}\n`,
      [`${CARD}/mem_info_vram_used`]: `${used}\n`,
    };
    const changes = { [`${CARD}/mem_info_vram_used`]: "9000000000\n" };
    const readings = await windowOf(files, changes);
    expect(readings.gpus).toEqual([
      { id: "card0 AMD 0x73df", used_peak_mb: 9000, total_mb: 12_868.125 },
    ]);
  });

  it("is the host's where the GPU is inside the processor and models go there", async () => {
    const host = await windowOf(inside("\u0003", 536_870_912, 16_000_000_000));
    expect(host.gpus).toEqual([]);
    const reserved = await windowOf(inside("\u0003", 100_000_000_000, 16_000_000_000));
    expect(reserved.gpus).toMatchObject([{ used_peak_mb: 400, total_mb: 100_000 }]);
    const { [`${CARD}/gpu_metrics`]: _none, ...old } = inside("", 536_870_912, 16_000_000_000);
    expect((await windowOf(old)).gpus).toEqual([]);
    const outside = await windowOf(inside("\u0001", 536_870_912, 16_000_000_000));
    expect(outside.gpus).toMatchObject([{ used_peak_mb: 400 }]);
  });

  it.each([
    [cardFiles("0000:01:00.0", "0x10de", "0x2702"), "no nvidia-smi to ask"],
    [cardFiles("0000:01:00.0", "0x1002", "0x73df"), "no amdgpu driver"],
    [cardFiles("0000:03:00.0", "0x8086", "0x56a0"), "does not tell its memory"],
    [{ "/dev/dxg": "" }, "WSL"],
  ])("is unknown, not none, where a card may be there: %o", async (files, reason) => {
    const readings = await windowOf(files);
    expect(readings.gpus).toBeNull();
    expect(readings.unavailable["gpus"]).toContain(reason);
  });

  it("is none where the bus shows none, or one that uses the host's", async () => {
    expect((await windowOf(cardFiles("0000:00:02.0", "0x8086", "0x46a6"))).gpus).toEqual([]);
    expect((await windowOf(cardFiles("0000:00:02.0", "0x1a03", "0x2000"))).gpus).toEqual([]);
  });

  it("is not known of a card that vanishes", async () => {
    const { root, recorder, wait } = recorderOn({
      ...inside("\u0001", 12_000_000_000, 16_000_000_000),
    });
    recorder.start();
    await wait(500);
    rmSync(join(root, CARD), { recursive: true });
    symlinkSync("nowhere", join(root, CARD));
    await wait(500);
    recorder.look();
    // The descriptor stays good for the use; what is gone is the file of the total.
    const { gpus, unavailable } = recorder.stop();
    expect(gpus?.[0]?.used_peak_mb).toBeNull();
    expect(unavailable["gpus"]).toContain("ENOENT");
  });
});
