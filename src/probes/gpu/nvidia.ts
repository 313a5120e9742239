import { waitAtMost, type Clock } from "../../core/clock.ts";
import { LineStream } from "../line-stream.ts";
import { known, megabytes, unknown, type Reading } from "../reading.ts";
import type { GpuMemory } from "./gpu-memory.ts";
import { NvidiaInstances } from "./nvidia-instances.ts";
import { cellNumber, nvidiaError, parseNvidiaCsv, saysNone, slowedDown } from "./nvidia-csv.ts";

/** One look each half second, as often as the host is looked at. */
const INTERVAL_MS = 500;
/** nvidia-smi takes seconds to answer where the driver must wake the card first. */
const MAX_AGE_MS = 5000;
const MIB = 1_048_576;

/** What every driver knows. */
const FEWEST = ["count", "index", "name", "memory.used", "memory.total"];
/** The mask is asked by its old name, which newer drivers still take; the oldest know neither. */
const WITH_MASK = [...FEWEST, "clocks_throttle_reasons.active"];
/** All that is asked, and what is asked instead where the driver does not know a column. */
const COLUMNS = [[...WITH_MASK, "mig.mode.current"], WITH_MASK, FEWEST];

interface Gpu {
  name: string;
  used_mib: number | null;
  total_mib: number | null;
  /** It has no memory of its own. */
  shares_host: boolean;
  /** Cut into instances (MIG), whose memory counts one by one. */
  cut: boolean;
  mask: number | null;
  at_ms: number;
}

function gpuMemory(index: number, gpu: Gpu): GpuMemory {
  const id = `${index} ${gpu.name}`;
  const used_mb = gpu.used_mib === null ? null : megabytes(gpu.used_mib * MIB);
  const total_mb = gpu.total_mib === null ? null : megabytes(gpu.total_mib * MIB);
  if (used_mb !== null && total_mb !== null) return { id, used_mb, total_mb, reason: null };
  return { id, used_mb, total_mb, reason: `GPU ${id} does not tell its memory` };
}

/** One `nvidia-smi -lms` for as long as we live, and its last word on each GPU. */
export class NvidiaGpus {
  readonly #clock: Clock;
  readonly #env: Record<string, string> | undefined;
  readonly #gpus = new Map<number, Gpu>();
  #columns: readonly string[] = COLUMNS[0] ?? FEWEST;
  /** How many GPUs there are, as each row says: a sum over fewer is no sum. */
  #count = 0;
  #stream: LineStream;
  readonly #instances: NvidiaInstances;
  #error: { reason: string; at_ms: number } | undefined;

  constructor(clock: Clock, env?: Record<string, string>) {
    this.#clock = clock;
    this.#env = env;
    this.#instances = new NvidiaInstances(clock, env);
    this.#stream = this.#open();
  }

  #open(): LineStream {
    return new LineStream({
      name: "nvidia-smi",
      file: "nvidia-smi",
      args: [
        `--query-gpu=${this.#columns.join(",")}`,
        "--format=csv,noheader,nounits",
        "-lms",
        String(INTERVAL_MS),
      ],
      clock: this.#clock,
      ...(this.#env === undefined ? {} : { env: this.#env }),
      onLine: (line) => this.#take(line),
    });
  }

  /** Resolves when it has spoken or failed, at the latest after `limit_ms`. */
  async ready(limit_ms: number): Promise<void> {
    await waitAtMost(this.#stream.spoke, limit_ms, this.#clock);
  }

  #take(line: string): void {
    const { rows, other } = parseNvidiaCsv(line, this.#columns);
    for (const row of rows) {
      this.#count = cellNumber(row["count"]) ?? this.#count;
      this.#gpus.set(cellNumber(row["index"]) ?? 0, {
        name: row["name"] ?? "NVIDIA GPU",
        used_mib: cellNumber(row["memory.used"]),
        total_mib: cellNumber(row["memory.total"]),
        shares_host: saysNone(line, this.#columns, "memory.total"),
        cut: row["mig.mode.current"] === "Enabled",
        mask: cellNumber(row["clocks_throttle_reasons.active"]),
        at_ms: this.#clock.monotonic_ms(),
      });
    }
    if (rows.some((row) => row["mig.mode.current"] === "Enabled")) this.#instances.start();
    const [complaint] = other;
    if (complaint !== undefined) this.#complain(complaint);
  }

  #complain(line: string): void {
    const error = nvidiaError(line);
    const fewer = COLUMNS[COLUMNS.findIndex((columns) => columns === this.#columns) + 1];
    if (error?.code === "invalid_field" && fewer !== undefined) {
      this.#columns = fewer;
      this.#stream.close();
      this.#stream = this.#open();
      return;
    }
    const at_ms = this.#clock.monotonic_ms();
    // What is not understood never hides what is: error texts have a second line at times.
    if (error !== undefined) this.#error = { reason: error.reason, at_ms };
    else this.#error ??= { reason: `nvidia-smi: ${line.slice(0, 120)}`, at_ms };
  }

  /** While one GPU is in trouble the sum over all is not known. */
  #fault(): string | null {
    const now_ms = this.#clock.monotonic_ms();
    const fault = this.#stream.fault(MAX_AGE_MS);
    const error = this.#error;
    if (error !== undefined) {
      if (fault !== null || now_ms - error.at_ms <= MAX_AGE_MS) {
        return error.reason;
      }
      this.#error = undefined;
    }
    if (fault !== null) return fault;
    const fresh = [...this.#gpus.values()].filter((gpu) => now_ms - gpu.at_ms <= MAX_AGE_MS);
    if (fresh.length === 0) return "nvidia-smi lists no GPU";
    if (fresh.length < Math.max(this.#count, this.#gpus.size)) {
      return `nvidia-smi tells of ${fresh.length} of ${Math.max(this.#count, this.#gpus.size)} GPUs`;
    }
    return null;
  }

  /** Memory in use, summed over the GPUs. */
  usedMb(): Reading<number> {
    const fault = this.#fault();
    if (fault !== null) return unknown(fault);
    let mib = 0;
    for (const gpu of this.#gpus.values()) {
      if (gpu.used_mib === null)
        return unknown("a GPU does not tell its memory (shared with the host)");
      mib += gpu.used_mib;
    }
    return known(megabytes(mib * MIB));
  }

  /** Memory of each GPU that has its own. */
  memories(): Reading<GpuMemory[]> {
    const fault = this.#fault();
    if (fault !== null) return unknown(fault);
    const own = [...this.#gpus].filter(([, gpu]) => !gpu.shares_host);
    return known(
      own.flatMap(([index, gpu]) =>
        gpu.cut ? this.#instances.memories(index, gpu.name) : [gpuMemory(index, gpu)],
      ),
    );
  }

  /** Whether any GPU is slowed down by heat or by its power supply. */
  throttled(): Reading<boolean> {
    const fault = this.#fault();
    if (fault !== null) return unknown(fault);
    const masks = [...this.#gpus.values()].map((gpu) => gpu.mask);
    if (masks.some((mask) => mask !== null && slowedDown(mask))) return known(true);
    if (masks.includes(null)) return unknown("a GPU does not tell its throttle reasons");
    return known(false);
  }

  close(): void {
    this.#instances.close();
    this.#stream.close();
  }
}
