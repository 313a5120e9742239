import type { Clock } from "../../core/clock.ts";
import { LineStream } from "../line-stream.ts";
import { megabytes } from "../reading.ts";
import type { GpuMemory } from "./gpu-memory.ts";
import { NvidiaTableReader } from "./nvidia-table.ts";

const MAX_AGE_MS = 5000;
const MIB = 1_048_576;

/**
 * Memory of the instances (MIG) that GPUs are cut into: no query tells it, only the table that a
 * plain `nvidia-smi` prints. Its helper runs from `start` on.
 */
export class NvidiaInstances {
  readonly #clock: Clock;
  readonly #env: Record<string, string> | undefined;
  readonly #reader = new NvidiaTableReader();
  #stream: LineStream | undefined;

  constructor(clock: Clock, env?: Record<string, string>) {
    this.#clock = clock;
    this.#env = env;
  }

  start(): void {
    this.#stream ??= new LineStream({
      name: "nvidia-smi -l",
      file: "nvidia-smi",
      args: ["-l", "1"],
      clock: this.#clock,
      ...(this.#env === undefined ? {} : { env: this.#env }),
      onLine: (line) => this.#reader.take(line),
    });
  }

  /** Of one GPU. While the table is not there, or has none of it, one entry without amounts. */
  memories(gpu: number, name: string): GpuMemory[] {
    const fault = this.#stream?.fault(MAX_AGE_MS) ?? null;
    const found = this.#reader.table.instances.filter((instance) => instance.gpu === gpu);
    if (fault !== null || found.length === 0) {
      const reason = fault ?? "nvidia-smi lists none of its instances";
      const id = `${gpu} ${name} (MIG)`;
      return [{ id, used_mb: null, total_mb: null, reason: `GPU ${id}: ${reason}` }];
    }
    return found.map(({ device, used_mib, total_mib }) => ({
      id: `${gpu}.${device} ${name} (MIG)`,
      used_mb: megabytes(used_mib * MIB),
      total_mb: megabytes(total_mib * MIB),
      reason: null,
    }));
  }

  close(): void {
    this.#stream?.close();
  }
}
