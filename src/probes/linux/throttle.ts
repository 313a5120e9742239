import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/** Counters never lose an event, so reading two files a core needs no hurry. */
const COUNTER_INTERVAL_MS = 2000;

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readText(path: string): string {
  const file = new KeptFile(path, 256);
  try {
    return file.read().trim();
  } catch {
    return "";
  } finally {
    file.close();
  }
}

/** Cooling devices that slow the processor down: ACPI names them Processor, ARM boards cpufreq. */
const CPU_COOLING = /^Processor$|cpufreq|^intel_powerclamp$/i;

/**
 * Whether heat slows the processor: the kernel's throttle counters of the cores grew since the
 * reading before, or a cooling device of the processor is at work.
 */
export class ThrottleWatch {
  readonly #clock: Clock;
  readonly #counters: KeptFile[] = [];
  readonly #cooling: KeptFile[] = [];
  #at_ms = Number.NEGATIVE_INFINITY;
  #events: number | undefined;
  #grew: boolean | undefined;

  constructor(root: string, clock: Clock) {
    this.#clock = clock;
    const cpus = join(root, "sys/devices/system/cpu");
    for (const cpu of list(cpus).filter((name) => /^cpu\d+$/.test(name))) {
      for (const name of ["core_throttle_count", "package_throttle_count"]) {
        const path = join(cpus, cpu, "thermal_throttle", name);
        if (existsSync(path)) this.#counters.push(new KeptFile(path, 64));
      }
    }
    const thermal = join(root, "sys/class/thermal");
    for (const name of list(thermal).filter((one) => one.startsWith("cooling_device"))) {
      if (!CPU_COOLING.test(readText(join(thermal, name, "type")))) continue;
      this.#cooling.push(new KeptFile(join(thermal, name, "cur_state"), 64));
    }
  }

  /** From now on only later events count. Throws as `read` does. */
  begin(): void {
    this.#events = this.#count();
    this.#at_ms = this.#clock.monotonic_ms();
    this.#grew = false;
  }

  /** `now`: counters are read whenever they were last. Throws where a file cannot be read any more. */
  read(now = false): Reading<boolean> {
    if (now) this.#at_ms = Number.NEGATIVE_INFINITY;
    if (this.#counters.length === 0 && this.#cooling.length === 0) {
      return unknown("this machine has neither throttle counters nor a CPU cooling device");
    }
    if (this.#cooling.some((file) => Number.parseInt(file.read(), 10) > 0)) return known(true);
    if (this.#counters.length === 0) return known(false);
    return this.#readCounters();
  }

  #count(): number {
    return this.#counters.reduce((sum, file) => sum + Number.parseInt(file.read(), 10), 0);
  }

  #readCounters(): Reading<boolean> {
    const now_ms = this.#clock.monotonic_ms();
    if (this.#grew === undefined || now_ms - this.#at_ms >= COUNTER_INTERVAL_MS) {
      const events = this.#count();
      if (this.#events !== undefined) this.#grew = events > this.#events;
      this.#events = events;
      this.#at_ms = now_ms;
    }
    if (this.#grew === undefined) return unknown("the first sample has nothing to compare with");
    return known(this.#grew);
  }

  close(): void {
    for (const file of [...this.#counters, ...this.#cooling]) file.close();
  }
}
