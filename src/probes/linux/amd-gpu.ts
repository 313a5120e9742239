import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { known, megabytes, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/**
 * Memory in use on AMD GPUs, from the files of the amdgpu driver: the same counters that
 * `rocm-smi` prints, without starting a Python program for each look.
 */
export class AmdGpuMemory {
  readonly #used: KeptFile[];

  private constructor(paths: readonly string[]) {
    this.#used = paths.map((path) => new KeptFile(path, 64));
  }

  static find(root: string): AmdGpuMemory | undefined {
    const drm = join(root, "sys/class/drm");
    if (!existsSync(drm)) return undefined;
    const paths = readdirSync(drm)
      .filter((name) => /^card\d+$/.test(name))
      .map((name) => join(drm, name, "device/mem_info_vram_used"))
      .filter((path) => existsSync(path));
    return paths.length === 0 ? undefined : new AmdGpuMemory(paths);
  }

  /** Sum over the cards. Throws where a card cannot be read: a part of a sum would be a lie. */
  read(): Reading<number> {
    const bytes = this.#used.map((file) => Number.parseInt(file.read(), 10));
    return known(megabytes(bytes.reduce((sum, one) => sum + one, 0)));
  }

  close(): void {
    for (const file of this.#used) file.close();
  }
}
