import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { isAlive, processIdentity } from "../../../src/core/process-table.ts";
import {
  createHostSampler,
  keepAwake,
  readHostIdentity,
  readPower,
  type HostSample,
} from "../../../src/probes/index.ts";
import {
  pathWith,
  plant,
  recorded,
  RECORDED_FOLDER,
  standIn,
} from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

const clock = systemClock;
const print = (path: string) => `cat "${RECORDED_FOLDER}${path}"`;

async function firstSample(
  platform: NodeJS.Platform,
  folder: string,
  server_pid: number | null = null,
): Promise<{ sample: HostSample; again(): HostSample }> {
  const root = join(folder, "root");
  plant(root, { "/proc/meminfo": "MemTotal: 2 kB\n" });
  const env = pathWith(join(folder, "bin"));
  const sampler = createHostSampler({ server_pid, clock, platform, root, env });
  onTestFinished(() => sampler.close());
  await sampler.ready(20_000);
  return { sample: sampler.sample(), again: () => sampler.sample() };
}

const withSmi = async (script: string) => {
  const folder = tempDir();
  standIn(join(folder, "bin"), "nvidia-smi", `echo "$*" >> "${folder}/args"\n${script}`);
  const found = await firstSample("linux", folder);
  return { ...found, args: () => readFileSync(join(folder, "args"), "utf8").trim().split("\n") };
};

/** Shell text that prints one GPU as `nvidia-smi -lms` does. */
const smiRow = (at: string, used: number | string, mask = "0x0000000000000000", total = "8192") =>
  `echo "${at}, NVIDIA T4, ${used}, ${total}, ${mask}, [N/A]"`;

describe("nvidia-smi as one long-lived helper", () => {
  it("is started once and sums over the GPUs", async () => {
    const smi = await withSmi(
      `while ${smiRow("2, 0", 1000, "0x0000000000000004")}; do ${smiRow("2, 1", 24)}; sleep 0.1; done`,
    );
    await waitFor("both GPUs", () => smi.again().gpu_used_mb === 1073.742);
    expect(smi.args()).toEqual([
      "--query-gpu=count,index,name,memory.used,memory.total,clocks_throttle_reasons.active,mig.mode.current --format=csv,noheader,nounits -lms 500",
    ]);
    // The GPUs are well, but this host's processor does not tell: together that is not known.
    expect(smi.again().throttled).toBeNull();
    expect(smi.again().unavailable["throttled"]).toContain("throttle counters");
  });

  it("says throttled where one GPU is too hot", async () => {
    const smi = await withSmi(
      `while ${smiRow("1, 0", 1, "0x0000000000000040")}; do sleep 0.1; done`,
    );
    expect(smi.sample.throttled).toBe(true);
  });

  it("does not sum over a GPU that shares the host's memory", async () => {
    const smi = await withSmi(
      `while ${smiRow("1, 0", "[N/A]", "[N/A]", "[N/A]")}; do sleep 0.1; done`,
    );
    expect(smi.sample.gpu_used_mb).toBeNull();
    expect(smi.sample.unavailable["gpu_used_mb"]).toContain("shared with the host");
  });

  it("asks for less where the driver does not know a column", async () => {
    const smi = await withSmi(
      `case "$1" in *mig*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2;; esac
       case "$1" in *throttle*) echo 'Field "clocks_throttle_reasons.active" is not a valid field to query.'; exit 2;; esac
       while echo "1, 0, Tesla K80, 100, 8192"; do sleep 0.1; done`,
    );
    await waitFor("memory", () => smi.again().gpu_used_mb === 104.858);
    expect(smi.args()).toHaveLength(3);
    expect(smi.again().throttled).toBeNull();
  });

  it.each([
    ["01-mismatch-with-nvml-version", 18, "wants a reboot"],
    ["03-couldnt-communicate", 9, "driver is not loaded"],
    ["04-gpu-access-blocked-wsl-docker", 1, "blocks access"],
    ["07-device-handle-no-space", 1, "GPU0000:CB:00.0"],
  ])("gives the reason of %s", async (name, status, reason) => {
    const smi = await withSmi(`${print(`linux/nvidia-smi-error/${name}.txt`)}; exit ${status}`);
    expect(smi.sample.gpu_used_mb).toBeNull();
    expect(smi.sample.unavailable["gpu_used_mb"]).toContain(reason);
  });

  it("trusts no sum while one of several GPUs is lost", async () => {
    const smi = await withSmi(
      `${print("linux/nvidia-smi-error/06-device-handle-second-gpu-lost.txt")}
       while ${smiRow("1, 0", 100)}; do sleep 0.1; done`,
    );
    expect(smi.sample.gpu_used_mb).toBeNull();
    expect(smi.sample.unavailable["gpu_used_mb"]).toContain("a GPU is lost (GPU1: 0000:34:00.0)");
  });

  it("makes no sum of one GPU out of two", async () => {
    const smi = await withSmi(`while ${smiRow("2, 0", 100)}; do sleep 0.1; done`);
    expect(smi.sample.gpu_used_mb).toBeNull();
    expect(smi.sample.unavailable["gpu_used_mb"]).toBe("nvidia-smi tells of 1 of 2 GPUs");
  });

  it("says so when it dies", async () => {
    const smi = await withSmi(`${smiRow("1, 0", 100)}; sleep 0.5; echo gone >&2; exit 7`);
    await waitFor("its end", () => smi.again().unavailable["gpu_used_mb"]?.includes("exit 7"));
    expect(smi.again().unavailable["gpu_used_mb"]).toBe("nvidia-smi ended (exit 7): gone");
  });
});

/** All that a Mac has on its PATH, as recorded. */
function macTools(bin: string): void {
  standIn(bin, "vm_stat", print("macos/vm_stat/03-macos27-mte-tagged-after.txt"));
  standIn(
    bin,
    "sysctl",
    `case "$*" in
      vm.swapusage) ${print("macos/sysctl-vm.swapusage/04-macos27-2g-after.txt")};;
      kern.memorystatus_vm_pressure_level) echo "kern.memorystatus_vm_pressure_level: 2";;
      machdep.cpu.brand_string) echo "machdep.cpu.brand_string: Apple M4";;
    esac`,
  );
  standIn(bin, "pmset", `echo "Now drawing from 'Battery Power'"`);
  standIn(bin, "ps", 'printf "  1 0 1000\\n 42 1 500000\\n 43 42 1000\\n"');
  standIn(
    bin,
    "sudo",
    `printf '%s\\n' "$*" > "${bin}/sudo-args"
     while ${print("macos/powermetrics-thermal/03-heavy-with-tasks.txt")}; do sleep 0.2; done`,
  );
  standIn(bin, "sw_vers", print("macos/sw_vers/01-macos27.0.txt"));
  standIn(
    bin,
    "system_profiler",
    `case "$*" in
      *Hardware*) ${print("macos/system_profiler-SPHardwareDataType/06-intel-mbp11-4-catalina.txt")};;
      -json*) ${print("macos/system_profiler-SPDisplaysDataType/01-m1-7core-json.json")};;
    esac`,
  );
}

describe("macOS", () => {
  it("makes a whole sample of what the tools print", async () => {
    const folder = tempDir();
    macTools(join(folder, "bin"));
    const { sample } = await firstSample("darwin", folder, 42);
    expect(sample).toMatchObject({
      sys_used_mb: 25530.319,
      sys_wired_mb: 21376.664,
      swap_used_mb: 581.561,
      swapped_out_mb: 51967.23,
      server_rss_mb: 513.024,
      mem_pressure_level: "warn",
      throttled: true,
      gpu_used_mb: null,
      power_source: "battery",
    });
    expect(Object.keys(sample.unavailable).sort()).toEqual(["cpu_pct", "gpu_used_mb"]);
    expect(readFileSync(join(folder, "bin/sudo-args"), "utf8")).toBe(
      "-n powermetrics --samplers thermal -i 1000 -b 1\n",
    );
  });

  it("takes memory_pressure where sysctl does not tell the level", async () => {
    const folder = tempDir();
    const bin = join(folder, "bin");
    macTools(bin);
    standIn(bin, "sysctl", "exit 1");
    standIn(bin, "memory_pressure", print("macos/memory_pressure/03-quiet-36g-79pct.txt"));
    const { sample } = await firstSample("darwin", folder);
    expect(sample.mem_pressure_level).toBe("normal");
    expect(sample.swap_used_mb).toBeNull();
    expect(sample.unavailable["swap_used_mb"]).toContain("vm.swapusage");
  });

  it("does not say cool where it may not ask", async () => {
    const folder = tempDir();
    const bin = join(folder, "bin");
    macTools(bin);
    standIn(bin, "sudo", "echo 'sudo: a password is required' >&2; exit 1");
    const { sample } = await firstSample("darwin", folder);
    expect(sample.throttled).toBeNull();
    expect(sample.unavailable["throttled"]).toBe(
      "sudo -n powermetrics ended (exit 1): sudo: a password is required",
    );
  });

  it("knows nothing where no tool is there, and fails nothing", async () => {
    const { sample } = await firstSample("darwin", tempDir(), 42);
    expect(sample.sys_used_mb).toBeNull();
    expect(sample.mem_pressure_level).toBeNull();
    expect(sample.power_source).toBeNull();
  });

  it("is named from its tools, without serial numbers", async () => {
    const folder = tempDir();
    const bin = join(folder, "bin");
    macTools(bin);
    const identity = await readHostIdentity({ platform: "darwin", env: pathWith(bin) });
    expect(identity).toMatchObject({
      os: "macOS 27.0 (26A428)",
      chip: "Apple M4, MacBookPro11,4",
      gpus: ["Apple M1 (7 cores)"],
    });
    expect(await readPower({ platform: "darwin", env: pathWith(bin) })).toEqual({
      source: "battery",
      reason: null,
    });
  });

  it("has no name and no power where the tools fail", async () => {
    const env = pathWith(join(tempDir(), "bin"));
    const identity = await readHostIdentity({ platform: "darwin", env });
    expect(identity).toMatchObject({ os: null, chip: null, gpus: null });
    expect((await readPower({ platform: "darwin", env })).reason).toContain("pmset");
  });
});

const gpus = async (tools: Record<string, string>, vendor: string) => {
  const folder = tempDir();
  const bin = join(folder, "bin");
  for (const [name, script] of Object.entries(tools)) standIn(bin, name, script);
  const pci = "/sys/bus/pci/devices/0000:01:00.0";
  plant(join(folder, "root"), { [`${pci}/class`]: "0x030000\n", [`${pci}/vendor`]: vendor });
  const root = join(folder, "root");
  return (await readHostIdentity({ platform: "linux", root, env: pathWith(bin) })).gpus;
};

describe("GPU names on Linux", () => {
  it("come from nvidia-smi", async () => {
    const row = recorded("linux/nvidia-smi-csv/07-h100-load.txt")
      .split(", ")
      .slice(0, 2)
      .join(", ");
    expect(await gpus({ "nvidia-smi": `echo "${row}"` }, "0x10de\n")).toEqual([
      "NVIDIA H100 80GB HBM3 (80 GiB)",
    ]);
  });

  it("come from rocm-smi", async () => {
    const script = print("linux/rocm-smi/10-rx6700xt-rocm612.json");
    expect(await gpus({ "rocm-smi": script }, "0x1002\n")).toEqual([
      "AMD Navi 22 [Radeon RX 6700/6700 XT / 6800M] (12 GiB)",
    ]);
  });

  it("are unknown where the driver does not answer", async () => {
    const script = `${print("linux/nvidia-smi-error/03-couldnt-communicate.txt")}; exit 9`;
    expect(await gpus({ "nvidia-smi": script }, "0x10de\n")).toBeNull();
  });
});

describe("keepAwake", () => {
  const AC = { "/sys/class/power_supply/AC/type": "Mains\n" };
  const ONLINE = "/sys/class/power_supply/AC/online";

  /** A Linux host on systemd, on mains or not, whose systemd-inhibit is `script`. */
  const linuxHost = (script: string, online = "1", more: Record<string, string> = {}) => {
    const folder = tempDir();
    const root = join(folder, "root");
    const bin = join(folder, "bin");
    standIn(bin, "systemd-inhibit", script.replaceAll("FOLDER", folder));
    plant(root, { ...AC, [ONLINE]: `${online}\n`, "/run/systemd/system/x": "", ...more });
    return { folder, options: { clock, platform: "linux", root, env: pathWith(bin) } as const };
  };
  const GRANTS = 'echo $$ > FOLDER/pid; echo "$@" > FOLDER/args; shift 4; exec "$@"';

  it("holds systemd's lock until it is released", async () => {
    const { folder, options } = linuxHost(GRANTS);
    const awake = await keepAwake({ ...options, why: "a test" });
    expect(awake).toMatchObject({ active: true, reason: null });
    expect(readFileSync(join(folder, "args"), "utf8")).toBe(
      "--what=sleep:idle --mode=block --who=touchstoned --why=a test cat\n",
    );
    const holder = processIdentity(Number(readFileSync(join(folder, "pid"), "utf8")));
    if (holder === undefined) throw new Error("nobody holds the lock");
    await awake.release();
    expect(isAlive(holder)).toBe(false);
    await awake.release();
  });

  it("records why systemd did not grant it", async () => {
    const { options } = linuxHost("echo 'Failed to inhibit: Access denied' >&2; exit 1");
    const awake = await keepAwake(options);
    expect(awake).toMatchObject({
      active: false,
      reason: "systemd-inhibit did not hold: Failed to inhibit: Access denied",
    });
    await awake.release();
  });

  it("holds on mains only, unless it is told otherwise", async () => {
    const { options } = linuxHost(GRANTS, "0");
    expect(await keepAwake(options)).toMatchObject({
      active: false,
      reason: expect.stringContaining("on battery"),
    });
    const awake = await keepAwake({ ...options, on_battery: true });
    expect(awake.active).toBe(true);
    await awake.release();
  });

  it("says what is missing", async () => {
    const { options, folder } = linuxHost(GRANTS);
    const without = await keepAwake({ ...options, env: { PATH: join(folder, "none") } });
    expect(without.reason).toBe("systemd-inhibit is not on PATH");
    expect((await keepAwake({ ...options, root: folder })).reason).toContain("systemd");
    expect((await keepAwake({ ...options, platform: "win32" })).reason).toContain("win32");
  });

  it("does not hold where it is not known what feeds the machine", async () => {
    const { options } = linuxHost(GRANTS, "?", { "/sys/class/dmi/id/sys_vendor": "QEMU\n" });
    expect((await keepAwake(options)).reason).toContain("not known to be on mains");
  });

  it("runs caffeinate for this process on macOS", async () => {
    const folder = tempDir();
    const bin = join(folder, "bin");
    standIn(bin, "pmset", `echo "Now drawing from 'AC Power'"`);
    standIn(bin, "caffeinate", `echo "$@" > ${folder}/args; exec sleep 60`);
    const awake = await keepAwake({ clock, platform: "darwin", env: pathWith(bin) });
    expect(awake).toMatchObject({ active: true, reason: null });
    const args = await waitFor("its arguments", () => readFileSync(join(folder, "args"), "utf8"));
    expect(args).toBe(`-i -w ${process.pid}\n`);
    await awake.release();
  });

  it("notices a caffeinate that ends at once", async () => {
    const bin = join(tempDir(), "bin");
    standIn(bin, "pmset", `echo "Now drawing from 'AC Power'"`);
    standIn(bin, "caffeinate", "echo 'cannot assert' >&2; exit 3");
    const awake = await keepAwake({ clock, platform: "darwin", env: pathWith(bin) });
    expect(awake.reason).toBe("caffeinate did not hold: cannot assert");
  });
});
