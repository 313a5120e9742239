import { join } from "node:path";
import { known, unknown, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/**
 * Above this share of the time a guest's processors are slower than they look. Neighbours that are
 * quiet take well under one percent.
 */
const SLOWED_SHARE = 0.05;

interface Times {
  stolen: number;
  total: number;
}

/** The eighth number of the first line of `/proc/stat`: what the host took while the guest had work. */
function parseSteal(text: string): Times | undefined {
  const [name, ...fields] = text.slice(0, text.indexOf("\n")).split(/\s+/);
  const times = fields.slice(0, 8).map(Number);
  const stolen = times[7];
  if (name !== "cpu" || stolen === undefined) return undefined;
  return { stolen, total: times.reduce((sum, ticks) => sum + ticks, 0) };
}

/**
 * Whether the host slows a virtual machine down. A guest sees no heat: that its processors are taken
 * away is the one thing that it can tell of being slower than it should be.
 */
export class StealWatch {
  readonly #file: KeptFile;
  #first: Times | undefined;

  constructor(root: string) {
    this.#file = new KeptFile(join(root, "proc/stat"), 512);
  }

  /** From now on. Throws where the file cannot be read. */
  begin(): void {
    this.#first = parseSteal(this.#file.readHead());
  }

  /** Over the time since `begin`. Throws where the file cannot be read. */
  read(): Reading<boolean> {
    const now = parseSteal(this.#file.readHead());
    if (now === undefined || this.#first === undefined) {
      return unknown("/proc/stat does not tell what the host takes");
    }
    const total = now.total - this.#first.total;
    return known(total > 0 && (now.stolen - this.#first.stolen) / total >= SLOWED_SHARE);
  }

  close(): void {
    this.#file.close();
  }
}
