import { cpus, totalmem } from "node:os";
import { waitAtMost, type Clock } from "../../core/clock.ts";
import { CpuShare } from "../cpu.ts";
import { LineStream } from "../line-stream.ts";
import {
  known,
  megabytes,
  unknown,
  type HostReader,
  type HostReadings,
  type Reading,
} from "../reading.ts";
import { parsePmset, parseThermalLevel, thermalPressure } from "./power.ts";
import { familyMemory } from "./process-memory.ts";
import { macPressure, parseSwapUsage, parseSysctl } from "./sysctl.ts";
import { parseVmStat, usedBytes, vmBytes, type VmStat } from "./vm-stat.ts";

/**
 * One shell that asks all tools in turn, once a second, for as long as somebody reads. The tools
 * print their one-shot form, the one of which samples are recorded; the built-in `echo` ends the
 * shell when we are gone. sysctl writes a decimal comma where the user's language has one. Power and processes change slowly and are asked less often.
 */
const LOOP = `
LC_ALL=C
export LC_ALL
n=0
while echo "== vm_stat"; do
  vm_stat
  echo "== swap"
  sysctl vm.swapusage
  echo "== pressure"
  sysctl kern.memorystatus_vm_pressure_level 2>/dev/null || memory_pressure -Q
  echo "== heat"
  notifyutil -g com.apple.system.thermalpressurelevel 2>/dev/null
  if [ $((n % 2)) -eq 0 ]; then echo "== ps"; ps -Ao pid=,ppid=,rss=; fi
  if [ $((n % 10)) -eq 0 ]; then
    echo "== power"; pmset -g batt
    echo "== machine"; sysctl hw.memsize hw.optional.arm64 2>/dev/null
  fi
  echo "== end"
  n=$((n + 1))
  sleep 1
done
`;

const LOOP_MAX_AGE_MS = 5000;
/** Power and what the machine is are asked in every tenth round. */
const POWER_MAX_AGE_MS = 30_000;
const THERMAL_MAX_AGE_MS = 5000;

export interface MacReaderOptions {
  server_pid: number | null;
  clock: Clock;
  env?: Record<string, string>;
}

/** Reads the host from two long-lived helpers: the loop above, and powermetrics for heat. */
export class MacReader implements HostReader {
  readonly #options: MacReaderOptions;
  readonly #loop: LineStream;
  readonly #thermal: LineStream;
  readonly #sections = new Map<string, { text: string; at_ms: number }>();
  readonly #cpu = new CpuShare();
  readonly #round = Promise.withResolvers<void>();
  #section: { name: string; lines: string[] } | undefined;
  #pressure_level: { level: string; at_ms: number } | undefined;

  constructor(options: MacReaderOptions) {
    const { clock } = options;
    this.#options = options;
    const env = options.env === undefined ? {} : { env: options.env };
    this.#loop = new LineStream({
      name: "the loop of vm_stat, sysctl and ps",
      file: "sh",
      args: ["-c", LOOP],
      clock,
      ...env,
      onLine: (line) => this.#takeLine(line),
    });
    // powermetrics wants root. Without a rule that lets us, sudo says so at once and asks nobody.
    this.#thermal = new LineStream({
      name: "sudo -n powermetrics",
      file: "sudo",
      args: ["-n", "powermetrics", "--samplers", "thermal", "-i", "1000", "-b", "1"],
      clock,
      ...env,
      onLine: (line) => this.#takeThermal(line),
    });
  }

  async ready(limit_ms: number): Promise<void> {
    const round = Promise.race([this.#round.promise, this.#loop.ended]);
    const all = Promise.all([round, this.#thermal.spoke]);
    await waitAtMost(all, limit_ms, this.#options.clock);
  }

  #takeLine(line: string): void {
    const name = /^== (\w+)$/.exec(line)?.[1];
    if (name === undefined) {
      this.#section?.lines.push(line);
      return;
    }
    if (this.#section !== undefined) {
      const at_ms = this.#options.clock.monotonic_ms();
      this.#sections.set(this.#section.name, { text: this.#section.lines.join("\n"), at_ms });
    }
    this.#section = name === "end" ? undefined : { name, lines: [] };
    if (name === "end") this.#round.resolve();
  }

  /** Only a line that names the level changes it: blank lines and headers between say nothing. */
  #takeThermal(line: string): void {
    const level = thermalPressure(line);
    if (level !== null) {
      this.#pressure_level = { level, at_ms: this.#options.clock.monotonic_ms() };
    }
  }

  /** Reads the last text of a section, if it is new enough. */
  #from<T>(name: string, max_age_ms: number, read: (text: string) => Reading<T>): Reading<T> {
    const fault = this.#loop.fault(LOOP_MAX_AGE_MS);
    if (fault !== null) return unknown(fault);
    const section = this.#sections.get(name);
    if (section === undefined) return unknown(`${name} has printed nothing yet`);
    const age_ms = this.#options.clock.monotonic_ms() - section.at_ms;
    if (age_ms > max_age_ms) return unknown(`${name} is ${Math.round(age_ms / 1000)} s old`);
    return read(section.text);
  }

  #vmStat(read: (stat: VmStat) => number | null): Reading<number> {
    return this.#from("vm_stat", LOOP_MAX_AGE_MS, (text) => {
      const stat = parseVmStat(text);
      const bytes = stat === undefined ? null : read(stat);
      return bytes === null
        ? unknown("vm_stat did not print all that is needed")
        : known(megabytes(bytes));
    });
  }

  /** A running total since boot. */
  swappedOut(): Reading<number> {
    return this.#vmStat((stat) => vmBytes(stat, "Swapouts"));
  }

  /** When vm_stat was read last, by the monotonic clock. */
  get counted_at_ms(): number {
    return this.#sections.get("vm_stat")?.at_ms ?? this.#options.clock.monotonic_ms();
  }

  /** Whole memory of the machine. */
  totalMb(): Reading<number> {
    return this.#from("machine", POWER_MAX_AGE_MS, (text) => {
      const bytes = Number(parseSysctl(text).get("hw.memsize"));
      return bytes > 0 ? known(megabytes(bytes)) : unknown("sysctl told no hw.memsize");
    });
  }

  /** Whether GPU and processor share their memory, as they do on Apple silicon. */
  unified(): Reading<boolean> {
    return this.#from("machine", POWER_MAX_AGE_MS, (text) =>
      known(parseSysctl(text).get("hw.optional.arm64") === "1"),
    );
  }

  read(): HostReadings {
    const { server_pid } = this.#options;
    return {
      used_mb: this.#vmStat(usedBytes),
      available_mb: this.#vmStat((stat) => {
        const used = usedBytes(stat);
        return used === null ? null : Math.max(0, totalmem() - used);
      }),
      wired_mb: this.#vmStat((stat) => vmBytes(stat, "Pages wired down")),
      swap_used_mb: this.#from("swap", LOOP_MAX_AGE_MS, (text) => {
        const swap = parseSwapUsage(text);
        return swap === undefined
          ? unknown("sysctl told no vm.swapusage")
          : known(megabytes(swap.used_bytes));
      }),
      swapped_out_mb: this.swappedOut(),
      server_rss_mb:
        server_pid === null
          ? unknown("no server process is known")
          : this.#from("ps", LOOP_MAX_AGE_MS, (text) => familyMemory(text, server_pid)),
      pressure: this.#from("pressure", LOOP_MAX_AGE_MS, macPressure),
      throttled: this.#throttled(),
      cpu_pct: this.#cpuShare(),
      gpu_used_mb: unknown("the GPU has no memory of its own"),
      power_source: this.#from("power", POWER_MAX_AGE_MS, parsePmset),
    };
  }

  /** By powermetrics where it may run, else by what the system tells everybody of its heat. */
  #throttled(): Reading<boolean> {
    const level = this.#powermetricsLevel();
    if (level.value !== null) return known(level.value !== "Nominal");
    const told = this.#from("heat", LOOP_MAX_AGE_MS, parseThermalLevel);
    return told.value === null ? level : known(told.value !== "Nominal");
  }

  #powermetricsLevel(): Reading<string> {
    const fault = this.#thermal.fault(THERMAL_MAX_AGE_MS);
    if (fault !== null) return unknown(fault);
    const last = this.#pressure_level;
    if (last === undefined) return unknown("powermetrics has told no pressure level yet");
    if (this.#options.clock.monotonic_ms() - last.at_ms > THERMAL_MAX_AGE_MS) {
      return unknown("powermetrics has told no pressure level for a while");
    }
    return known(last.level);
  }

  #cpuShare(): Reading<number> {
    let busy = 0;
    let total = 0;
    for (const { times } of cpus()) {
      const used = times.user + times.nice + times.sys + times.irq;
      busy += used;
      total += used + times.idle;
    }
    return total === 0 ? unknown("no processor told its times") : this.#cpu.next({ busy, total });
  }

  close(): void {
    this.#loop.close();
    this.#thermal.close();
  }
}
