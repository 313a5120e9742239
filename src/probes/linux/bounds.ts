import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { BoundReader, BoundSample, CgroupMemory, Counted } from "../bound-sample.ts";
import type { NvidiaGpus } from "../gpu/nvidia.ts";
import { attempt, known, megabytes, unknown, type Reading } from "../reading.ts";
import type { PressureLevel } from "../sample.ts";
import { bothThrottled } from "../throttled.ts";
import { CgroupLimit } from "./cgroup.ts";
import { LinuxGpus } from "./gpus.ts";
import { KeptFile } from "./kept-file.ts";
import { counter, hostMemory, parseMemInfo } from "./memory.ts";
import { parsePressure, pressureLevel, stalledUs, worse } from "./pressure.ts";
import { pageSize } from "./server-memory.ts";
import { StealReader } from "./steal.ts";
import { ThrottleWatch } from "./throttle.ts";
import { isVirtual } from "./virtual.ts";

export interface LinuxBoundsOptions {
  server_pid: number | null;
  clock: Clock;
  root: string;
  /** Undefined where there is no nvidia-smi, or no card for it. */
  nvidia: NvidiaGpus | undefined;
}

const NO_HEAT = "a virtual machine sees no heat: what its host takes counts in its place";
const NO_PSI = "the kernel keeps no pressure stall information (boot option psi=1)";

/** The bounds' readings from files alone; the GPU's one helper is handed in. */
export class LinuxBounds implements BoundReader {
  readonly #options: LinuxBoundsOptions;
  readonly #meminfo: KeptFile;
  readonly #vmstat: KeptFile;
  readonly #pressure: KeptFile;
  readonly #throttle: ThrottleWatch;
  /** In a virtual machine, which sees no heat. */
  readonly #steal: StealReader | undefined;
  readonly #page_bytes: number;
  readonly #cgroup: Reading<CgroupLimit | "none">;
  readonly #gpus: LinuxGpus;

  constructor(options: LinuxBoundsOptions) {
    const { root, clock, nvidia, server_pid } = options;
    this.#options = options;
    this.#meminfo = new KeptFile(join(root, "proc/meminfo"));
    this.#vmstat = new KeptFile(join(root, "proc/vmstat"), 16_384);
    this.#pressure = new KeptFile(join(root, "proc/pressure/memory"), 256);
    this.#throttle = new ThrottleWatch(root, clock);
    this.#steal = isVirtual(root) ? new StealReader(root) : undefined;
    this.#page_bytes =
      attempt(() => known(pageSize(readFileSync(join(root, "proc/self/auxv"))))).value ?? 4096;
    this.#cgroup = attempt(() => {
      const info = parseMemInfo(this.#meminfo.read());
      return known(CgroupLimit.find(root, info, server_pid ?? "self") ?? "none");
    });
    this.#gpus = new LinuxGpus(root, nvidia);
  }

  async ready(limit_ms: number): Promise<void> {
    await this.#options.nvidia?.ready(limit_ms);
  }

  begin(): void {
    // Where the counters cannot be read, `read` says so.
    attempt(() => known(this.#throttle.begin()));
  }

  read(edge: boolean): BoundSample {
    const info = attempt(() => known(parseMemInfo(this.#meminfo.read())));
    const group = attempt(() => this.#readCgroup());
    const stall = attempt(() => known(this.#pressure.read()));
    const own = group.value === null ? null : group.value.pressure;
    return {
      host_used_mb: info.value === null ? info : hostMemory(info.value).used_mb,
      host_total_mb:
        info.value === null
          ? info
          : info.value.total_bytes === null
            ? unknown("/proc/meminfo has no MemTotal")
            : known(megabytes(info.value.total_bytes)),
      cgroup: group.value === null ? group : known(group.value.memory),
      gpus: this.#gpus.read(),
      swapped_out: edge ? attempt(() => this.#swappedOut()) : null,
      stalled: edge ? this.#stalled(stall.value) : null,
      group_stalled: edge && own !== null ? this.#stalled(own) : null,
      pressure: this.#level(stall.value, own),
      throttled: bothThrottled(
        attempt(() => this.#slowed(edge)),
        this.#options.nvidia?.throttled(),
      ),
      stolen: edge ? this.#stolen() : null,
    };
  }

  #slowed(edge: boolean): Reading<boolean> {
    const { tells } = this.#throttle;
    return this.#steal === undefined || tells ? this.#throttle.read(edge) : unknown(NO_HEAT);
  }

  #stolen(): BoundSample["stolen"] {
    const steal = this.#steal;
    return steal === undefined ? null : attempt(() => steal.read());
  }

  #readCgroup(): Reading<{ memory: CgroupMemory | "none"; pressure: string | null }> {
    if (this.#cgroup.value === null) return unknown(`memory limit: ${this.#cgroup.reason}`);
    if (this.#cgroup.value === "none") return known({ memory: "none", pressure: null });
    const { limit_bytes, working_set_bytes, pressure } = this.#cgroup.value.read();
    const memory = { used_mb: megabytes(working_set_bytes), limit_mb: megabytes(limit_bytes) };
    return known({ memory, pressure });
  }

  #swappedOut(): Reading<Counted> {
    const pages = counter(this.#vmstat.read(), "pswpout");
    if (pages === null) return unknown("/proc/vmstat has no pswpout");
    const total = (pages * this.#page_bytes) / 1e6;
    return known({ total, at_ms: this.#options.clock.monotonic_ms() });
  }

  #stalled(pressure: string | null): Reading<Counted> {
    const us = pressure === null ? null : stalledUs(pressure);
    if (us === null) return unknown(NO_PSI);
    return known({ total: us / 1000, at_ms: this.#options.clock.monotonic_ms() });
  }

  #level(host: string | null, own: string | null): Reading<PressureLevel> {
    let level: PressureLevel | null = null;
    for (const text of [host, own]) {
      const read = text === null ? null : pressureLevel(parsePressure(text)).value;
      if (read !== null) level = level === null ? read : worse(level, read);
    }
    return level === null ? unknown(NO_PSI) : known(level);
  }

  close(): void {
    for (const file of [this.#meminfo, this.#vmstat, this.#pressure]) file.close();
    this.#throttle.close();
    this.#steal?.close();
    if (this.#cgroup.value !== null && this.#cgroup.value !== "none") this.#cgroup.value.close();
    this.#gpus.close();
    this.#options.nvidia?.close();
  }
}
