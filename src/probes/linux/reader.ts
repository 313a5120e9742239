import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { CpuShare, parseCpuLine } from "../cpu.ts";
import type { NvidiaGpus } from "../gpu/nvidia.ts";
import {
  attempt,
  failureText,
  known,
  megabytes,
  unknown,
  type HostReader,
  type HostReadings,
  type Reading,
} from "../reading.ts";
import type { PressureLevel } from "../sample.ts";
import { bothThrottled } from "../throttled.ts";
import { AmdGpuMemory } from "./amd-gpu.ts";
import { CgroupLimit, type CgroupUse } from "./cgroup.ts";
import { KeptFile } from "./kept-file.ts";
import {
  both,
  counter,
  hostMemory,
  parseMemInfo,
  swapUsed,
  wired,
  type MemInfo,
  type MemoryReadings,
} from "./memory.ts";
import { linuxPower } from "./power-supply.ts";
import { parsePressure, pressureLevel, worse } from "./pressure.ts";
import { pageSize, ServerMemory } from "./server-memory.ts";
import { ThrottleWatch } from "./throttle.ts";

/** Somebody pulling the plug is noticed this soon; the files sit behind slow firmware at times. */
const POWER_INTERVAL_MS = 10_000;

/** The kernel adds /proc/vmstat up over all cores; a running total can wait that long. */
const SWAP_INTERVAL_MS = 2000;

export interface LinuxReaderOptions {
  server_pid: number | null;
  clock: Clock;
  /** Where /proc and /sys are; "/" but in tests. */
  root: string;
  /** Undefined where there is no nvidia-smi. */
  nvidia: NvidiaGpus | undefined;
}

/** Reads the host from files alone and starts nothing (the GPU's one helper is handed in). */
export class LinuxReader implements HostReader {
  readonly #options: LinuxReaderOptions;
  readonly #meminfo: KeptFile;
  readonly #vmstat: KeptFile;
  readonly #stat: KeptFile;
  readonly #pressure: KeptFile;
  readonly #cpu = new CpuShare();
  readonly #throttle: ThrottleWatch;
  readonly #page_bytes: number;
  readonly #cgroup: CgroupLimit | undefined;
  readonly #cgroup_fault: string | null;
  readonly #server: Reading<ServerMemory>;
  readonly #amd: AmdGpuMemory | undefined;
  #swapped: { reading: Reading<number>; at_ms: number } | undefined;
  #power: { reading: Reading<"ac" | "battery">; at_ms: number } | undefined;

  constructor(options: LinuxReaderOptions) {
    const { root, clock, server_pid } = options;
    this.#options = options;
    this.#meminfo = new KeptFile(join(root, "proc/meminfo"));
    this.#vmstat = new KeptFile(join(root, "proc/vmstat"), 16_384);
    // Only the first line is wanted: the rest grows with cores and interrupts.
    this.#stat = new KeptFile(join(root, "proc/stat"), 512);
    this.#pressure = new KeptFile(join(root, "proc/pressure/memory"), 256);
    this.#throttle = new ThrottleWatch(root, clock);
    this.#page_bytes =
      attempt(() => known(pageSize(readFileSync(join(root, "proc/self/auxv"))))).value ?? 4096;
    const limit = findLimit(root, this.#meminfo);
    this.#cgroup = limit.found;
    this.#cgroup_fault = limit.fault;
    this.#server =
      server_pid === null
        ? unknown("no server process is known")
        : attempt(() => known(new ServerMemory(server_pid, root, clock)));
    this.#amd = AmdGpuMemory.find(root);
  }

  async ready(limit_ms: number): Promise<void> {
    await this.#options.nvidia?.ready(limit_ms);
  }

  /** Memory alone: what waiting for a release looks at. */
  memory(): MemoryReadings {
    return this.#memory(this.#info(), this.#cgroupUse());
  }

  #info(): Reading<MemInfo> {
    return attempt(() => known(parseMemInfo(this.#meminfo.read())));
  }

  #cgroupUse(): Reading<CgroupUse | undefined> {
    return attempt(() => known(this.#cgroup?.read()));
  }

  read(): HostReadings {
    const info = this.#info();
    const cgroup = this.#cgroupUse();
    return {
      ...this.#memory(info, cgroup),
      wired_mb: info.value === null ? info : wired(info.value),
      swap_used_mb: info.value === null ? info : swapUsed(info.value),
      swapped_out_mb: this.#swappedOut(),
      server_rss_mb: this.#server.value === null ? this.#server : this.#server.value.read(),
      pressure: this.#pressureLevel(cgroup.value?.pressure ?? null),
      throttled: this.#throttled(),
      cpu_pct: attempt(() => this.#cpuShare()),
      gpu_used_mb: this.#gpuUsed(),
      power_source: this.#powerSource(),
    };
  }

  /**
   * Where a limit of our own cgroup is lower than the machine's memory, that is the memory there
   * is: used is then the working set inside the limit, available the lesser of what either leaves.
   */
  #memory(info: Reading<MemInfo>, cgroup: Reading<CgroupUse | undefined>): MemoryReadings {
    if (info.value === null) return both(info);
    if (this.#cgroup_fault !== null) return both(unknown(this.#cgroup_fault));
    if (cgroup.reason !== null) return both(unknown(cgroup.reason));
    const host = hostMemory(info.value);
    const use = cgroup.value;
    if (use === undefined) return host;
    const left_mb = megabytes(Math.max(0, use.limit_bytes - use.working_set_bytes));
    return {
      used_mb: known(megabytes(use.working_set_bytes)),
      available_mb: known(Math.min(left_mb, host.available_mb.value ?? left_mb)),
    };
  }

  #swappedOut(): Reading<number> {
    const now_ms = this.#options.clock.monotonic_ms();
    if (this.#swapped === undefined || now_ms - this.#swapped.at_ms >= SWAP_INTERVAL_MS) {
      this.#swapped = { reading: attempt(() => this.#readSwappedOut()), at_ms: now_ms };
    }
    return this.#swapped.reading;
  }

  #readSwappedOut(): Reading<number> {
    const pages = counter(this.#vmstat.read(), "pswpout");
    if (pages === null) return unknown("/proc/vmstat has no pswpout");
    return known(megabytes(pages * this.#page_bytes));
  }

  #pressureLevel(cgroup: string | null): Reading<PressureLevel> {
    const host = attempt(() => pressureLevel(parsePressure(this.#pressure.read())));
    if (cgroup === null) {
      return host.value === null ? unknown(`no pressure stall information: ${host.reason}`) : host;
    }
    const own = pressureLevel(parsePressure(cgroup));
    if (own.value === null || host.value === null) return own;
    return known(worse(own.value, host.value));
  }

  #cpuShare(): Reading<number> {
    const times = parseCpuLine(this.#stat.readHead());
    return times === undefined ? unknown("/proc/stat has no cpu line") : this.#cpu.next(times);
  }

  #throttled(): Reading<boolean> {
    return bothThrottled(
      attempt(() => this.#throttle.read()),
      this.#options.nvidia?.throttled(),
    );
  }

  #gpuUsed(): Reading<number> {
    const { nvidia } = this.#options;
    const amd = attempt(
      () => this.#amd?.read() ?? unknown("no GPU with readable memory was found"),
    );
    if (nvidia === undefined) return amd;
    const used = nvidia.usedMb();
    if (this.#amd === undefined || used.value === null) return used;
    return amd.value === null ? amd : known(used.value + amd.value);
  }

  #powerSource(): Reading<"ac" | "battery"> {
    const now_ms = this.#options.clock.monotonic_ms();
    if (this.#power === undefined || now_ms - this.#power.at_ms >= POWER_INTERVAL_MS) {
      this.#power = { reading: linuxPower(this.#options.root), at_ms: now_ms };
    }
    return this.#power.reading;
  }

  close(): void {
    for (const file of [this.#meminfo, this.#vmstat, this.#stat, this.#pressure]) file.close();
    this.#throttle.close();
    this.#cgroup?.close();
    this.#amd?.close();
    this.#server.value?.close();
    this.#options.nvidia?.close();
  }
}

/** The cgroup's limit, or why it is not known whether there is one. */
function findLimit(
  root: string,
  meminfo: KeptFile,
): { found: CgroupLimit | undefined; fault: string | null } {
  try {
    return { found: CgroupLimit.find(root, parseMemInfo(meminfo.read())), fault: null };
  } catch (error) {
    return { found: undefined, fault: `memory limit: ${failureText(error)}` };
  }
}
