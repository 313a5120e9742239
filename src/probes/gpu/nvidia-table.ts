export interface TableGpu {
  index: number;
  name: string;
  used_mib: number | null;
  total_mib: number | null;
}

/** An instance (MIG). Those with one `gi` share its memory. */
export interface TableInstance {
  gpu: number;
  gi: number;
  device: number;
  used_mib: number;
  total_mib: number;
}

export interface NvidiaTable {
  driver: string | null;
  /** The newest CUDA that the driver serves. */
  cuda: string | null;
  gpus: TableGpu[];
  instances: TableInstance[];
}

const BANNER = /Driver Version: (\S+)\s+CUDA Version: (\S+)/;
/** First line of a GPU: index, name, persistence mode, then the bus address. */
const GPU = /^\|\s+(\d+)\s{2}(.+?)\s+(?:On|Off|N\/A)\s+\|\s+[0-9A-Fa-f]{8}:/;
const MEMORY = /\|\s+(\d+)MiB \/\s+(\d+)MiB\s+\|/;
/** First line of an instance: GPU, GI, CI and device, then its memory. */
const INSTANCE = /^\|\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+\|\s+(\d+)MiB \/\s*(\d+)MiB/;

/** Reads the lines of a plain `nvidia-smi`, one after the other, of one table or of many. */
export class NvidiaTableReader {
  #next: NvidiaTable = { driver: null, cuda: null, gpus: [], instances: [] };
  #whole: NvidiaTable | undefined;
  #gpu: TableGpu | undefined;

  /** The last one that was printed whole; before that as much as there is. */
  get table(): NvidiaTable {
    return this.#whole ?? this.#next;
  }

  take(line: string): void {
    const banner = BANNER.exec(line);
    if (banner !== null) {
      const [, driver = null, cuda = null] = banner;
      this.#next = { driver, cuda, gpus: [], instances: [] };
      return;
    }
    if (line.startsWith("| Processes:")) {
      this.#whole = this.#next;
      return;
    }
    const instance = INSTANCE.exec(line)?.slice(1).map(Number);
    if (instance !== undefined) {
      const [gpu = 0, gi = 0, , device = 0, used_mib = 0, total_mib = 0] = instance;
      this.#next.instances.push({ gpu, gi, device, used_mib, total_mib });
      return;
    }
    const [, index, name = ""] = GPU.exec(line) ?? [];
    if (index !== undefined) {
      this.#gpu = { index: Number(index), name, used_mib: null, total_mib: null };
      this.#next.gpus.push(this.#gpu);
      return;
    }
    const memory = MEMORY.exec(line);
    if (memory === null || this.#gpu === undefined) return;
    this.#gpu.used_mib = Number(memory[1]);
    this.#gpu.total_mib = Number(memory[2]);
    this.#gpu = undefined;
  }
}

/** Parses what a plain `nvidia-smi` prints once. */
export function parseNvidiaTable(text: string): NvidiaTable {
  const reader = new NvidiaTableReader();
  for (const line of text.split("\n")) reader.take(line);
  return reader.table;
}
