import type { Clock } from "../../core/clock.ts";
import { LineStream } from "../line-stream.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { cellNumber, nvidiaError, parseNvidiaCsv, slowedDown } from "./nvidia-csv.ts";

/** One look each half second, as often as the host is looked at. */
const INTERVAL_MS = 500;
/** nvidia-smi takes seconds to answer where the driver must wake the card first. */
const MAX_AGE_MS = 5000;
const MIB = 1_048_576;

/** The mask is asked by its old name, which newer drivers still take; the oldest know neither. */
const COLUMNS = ["index", "memory.used", "clocks_throttle_reasons.active"];
const FEWER_COLUMNS = ["index", "memory.used"];

interface Gpu {
  used_mib: number | null;
  mask: number | null;
}

/** One `nvidia-smi -lms` for as long as we live, and its last word on each GPU. */
export class NvidiaGpus {
  readonly #clock: Clock;
  readonly #env: Record<string, string> | undefined;
  readonly #gpus = new Map<number, Gpu>();
  #columns = COLUMNS;
  #stream: LineStream;
  #error: { reason: string; at_ms: number } | undefined;

  constructor(clock: Clock, env?: Record<string, string>) {
    this.#clock = clock;
    this.#env = env;
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

  get spoke(): Promise<void> {
    return this.#stream.spoke;
  }

  #take(line: string): void {
    const { rows, other } = parseNvidiaCsv(line, this.#columns);
    for (const row of rows) {
      this.#gpus.set(cellNumber(row["index"]) ?? 0, {
        used_mib: cellNumber(row["memory.used"]),
        mask: cellNumber(row["clocks_throttle_reasons.active"]),
      });
    }
    const [complaint] = other;
    if (complaint !== undefined) this.#complain(complaint);
  }

  #complain(line: string): void {
    const error = nvidiaError(line);
    if (error?.code === "invalid_field" && this.#columns !== FEWER_COLUMNS) {
      this.#columns = FEWER_COLUMNS;
      this.#stream.close();
      this.#stream = this.#open();
      return;
    }
    const reason = error?.reason ?? `nvidia-smi: ${line.slice(0, 120)}`;
    this.#error = { reason, at_ms: this.#clock.monotonic_ms() };
  }

  /** While one GPU is in trouble the sum over all is not known. */
  #fault(): string | null {
    const fault = this.#stream.fault(MAX_AGE_MS);
    const error = this.#error;
    if (error !== undefined) {
      if (fault !== null || this.#clock.monotonic_ms() - error.at_ms <= MAX_AGE_MS) {
        return error.reason;
      }
      this.#error = undefined;
    }
    return fault ?? (this.#gpus.size === 0 ? "nvidia-smi lists no GPU" : null);
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
    return known(Math.round(mib * MIB) / 1_000_000);
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
    this.#stream.close();
  }
}
