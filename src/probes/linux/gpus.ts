import type { GpuMemory } from "../gpu/gpu-memory.ts";
import type { NvidiaGpus } from "../gpu/nvidia.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { AmdGpuMemory } from "./amd-gpu.ts";
import { busCards, computing, hiddenByWsl, integrated, type BusCard } from "./bus.ts";

/** Whether nvidia-smi is worth being started: where the bus proves that there is no such card, not. */
export function mayHaveNvidia(root: string): boolean {
  const { value } = busCards(root);
  return value === null || value.some(({ vendor }) => vendor === "nvidia") || hiddenByWsl(root);
}

/** Why the memory of a card on the bus is not told by anything that is at hand; null where it is. */
function cardFault(card: BusCard, nvidia: boolean): string | null {
  if (card.vendor === "nvidia") {
    return nvidia ? null : `there is no nvidia-smi to ask for the card at ${card.slot}`;
  }
  if (card.vendor === "amd" || integrated(card)) return null;
  return `the card at ${card.slot} (maker ${card.vendor}) does not tell its memory`;
}

function busFault(
  root: string,
  nvidia: NvidiaGpus | undefined,
  amd: AmdGpuMemory | undefined,
): string | null {
  const bus = busCards(root);
  const asked = nvidia !== undefined || amd !== undefined;
  if (bus.value === null) return asked ? null : bus.reason;
  const cards = computing(bus.value);
  const amd_count = cards.filter(({ vendor }) => vendor === "amd").length;
  if (amd_count > (amd?.count ?? 0))
    return "an AMD card has no mem_info_vram_used (no amdgpu driver)";
  if (!asked && hiddenByWsl(root)) return "WSL does not say which GPU it passes on";
  const faults = cards.map((card) => cardFault(card, nvidia !== undefined));
  return faults.find((fault) => fault !== null) ?? null;
}

/** Memory of each GPU that has its own: NVIDIA's by their one helper, AMD's by files. */
export class LinuxGpus {
  readonly #nvidia: NvidiaGpus | undefined;
  readonly #amd: AmdGpuMemory | undefined;
  readonly #fault: string | null;

  /** The bus is looked at here: a card that is put in later shows with the next recorder. */
  constructor(root: string, nvidia: NvidiaGpus | undefined) {
    this.#nvidia = nvidia;
    this.#amd = AmdGpuMemory.find(root);
    this.#fault = busFault(root, nvidia, this.#amd);
  }

  /** Empty where no GPU has memory of its own; unknown where one may be there that tells nothing. */
  read(): Reading<GpuMemory[]> {
    if (this.#fault !== null) return unknown(this.#fault);
    const nvidia = this.#nvidia?.memories() ?? known([]);
    if (nvidia.value === null) return nvidia;
    return known([...nvidia.value, ...(this.#amd?.memories() ?? [])]);
  }

  close(): void {
    this.#amd?.close();
  }
}
