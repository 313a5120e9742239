import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { GpuMemory } from "../gpu/gpu-memory.ts";
import { attempt, failureText, known, megabytes, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/** Formats of `gpu_metrics` from 2 on are those of a GPU inside a processor. */
const FIRST_INSIDE_FORMAT = 2;

function bytesIn(path: string): number {
  return Number.parseInt(readFileSync(path, "latin1"), 10);
}

/**
 * Whether models go to the host's memory: a GPU inside a processor, whose reserved part of it
 * (`vram`) is smaller than what it may take of the rest (`gtt`).
 */
function usesHost(device: string): boolean {
  return (
    attempt(() => {
      const format = readFileSync(join(device, "gpu_metrics"))[2] ?? 0;
      const reserved = bytesIn(join(device, "mem_info_vram_total"));
      const rest = bytesIn(join(device, "mem_info_gtt_total"));
      return known(format >= FIRST_INSIDE_FORMAT && reserved < rest);
    }).value ?? false
  );
}

interface Card {
  id: string;
  device: string;
  used: KeptFile;
  shares_host: boolean;
}

function cardAt(drm: string, name: string): Card {
  const device = join(drm, name, "device");
  const number = attempt(() => known(readFileSync(join(device, "device"), "latin1").trim()));
  return {
    id: `${name} AMD ${number.value ?? "GPU"}`,
    device,
    used: new KeptFile(join(device, "mem_info_vram_used"), 64),
    shares_host: usesHost(device),
  };
}

/**
 * Memory in use on AMD GPUs, from the files of the amdgpu driver: the same counters that
 * `rocm-smi` prints, without starting a Python program for each look.
 */
export class AmdGpuMemory {
  readonly #cards: Card[];

  private constructor(cards: Card[]) {
    this.#cards = cards;
  }

  static find(root: string): AmdGpuMemory | undefined {
    const drm = join(root, "sys/class/drm");
    if (!existsSync(drm)) return undefined;
    const cards = readdirSync(drm)
      .filter((name) => /^card\d+$/.test(name))
      .filter((name) => existsSync(join(drm, name, "device/mem_info_vram_used")))
      .map((name) => cardAt(drm, name));
    return cards.length === 0 ? undefined : new AmdGpuMemory(cards);
  }

  get count(): number {
    return this.#cards.length;
  }

  /** Sum over the cards. Throws where a card cannot be read: a part of a sum would be a lie. */
  read(): Reading<number> {
    const bytes = this.#cards.map(({ used }) => Number.parseInt(used.read(), 10));
    return known(megabytes(bytes.reduce((sum, one) => sum + one, 0)));
  }

  /** Memory of each card that has its own. */
  memories(): GpuMemory[] {
    return this.#cards.filter(({ shares_host }) => !shares_host).map((card) => memoryOf(card));
  }

  close(): void {
    for (const { used } of this.#cards) used.close();
  }
}

function memoryOf({ id, device, used }: Card): GpuMemory {
  try {
    const used_mb = megabytes(Number.parseInt(used.read(), 10));
    const total_mb = megabytes(bytesIn(join(device, "mem_info_vram_total")));
    return { id, used_mb, total_mb, reason: null };
  } catch (error) {
    return { id, used_mb: null, total_mb: null, reason: `GPU ${id}: ${failureText(error)}` };
  }
}
