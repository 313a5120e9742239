import { join } from "node:path";
import type { ProcessorTime } from "../bound-sample.ts";
import { known, unknown, type Reading } from "../reading.ts";
import { KeptFile } from "./kept-file.ts";

/** The eighth number of the first line of `/proc/stat`: what the host took while the guest had work. */
function parseSteal(text: string): ProcessorTime | undefined {
  const [name, ...fields] = text.slice(0, text.indexOf("\n")).split(/\s+/);
  const times = fields.slice(0, 8).map(Number);
  const stolen = times[7];
  if (name !== "cpu" || stolen === undefined) return undefined;
  return { stolen, total: times.reduce((sum, ticks) => sum + ticks, 0) };
}

/** What the host takes of a virtual machine's processors: of heat a guest is told nothing. */
export class StealReader {
  readonly #file: KeptFile;

  constructor(root: string) {
    this.#file = new KeptFile(join(root, "proc/stat"), 512);
  }

  /** Since boot. Throws where the file cannot be read. */
  read(): Reading<ProcessorTime> {
    const now = parseSteal(this.#file.readHead());
    return now === undefined ? unknown("/proc/stat does not tell what the host takes") : known(now);
  }

  close(): void {
    this.#file.close();
  }
}
