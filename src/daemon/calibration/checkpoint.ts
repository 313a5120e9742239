import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SweepState } from "../../calibrate/index.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import type { ServerFacts } from "./identity.ts";

/** What is kept of a sweep beside its state. */
interface Kept {
  /** Name of its folder of raw turns. */
  run: string | null;
  facts: ServerFacts | null;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined; // what cannot be read is measured again
  }
}

/** `state_dir/checkpoints/<sweep key>`: a sweep that goes on where it was interrupted. */
export class CheckpointDir {
  readonly #dir: string;

  constructor(state_dir: string, key: string) {
    this.#dir = join(state_dir, "checkpoints", key.slice(0, 32));
  }

  load(): SweepState | undefined {
    const value = parsed(readTextIfThere(join(this.#dir, "state.json")));
    const fits =
      typeof value === "object" &&
      value !== null &&
      "schema" in value &&
      value.schema === "touchstoned/sweep-state/1";
    return fits ? (value as SweepState) : undefined;
  }

  #write(name: string, value: unknown): void {
    ensureDir(this.#dir, 0o700);
    writeFileAtomic(join(this.#dir, name), `${JSON.stringify(value)}\n`, 0o600);
  }

  save(state: SweepState): void {
    this.#write("state.json", state);
  }

  get kept(): Kept {
    const value = parsed(readTextIfThere(join(this.#dir, "kept.json")));
    return { run: null, facts: null, ...(value as Partial<Kept> | undefined) };
  }

  keep(more: Partial<Kept>): void {
    this.#write("kept.json", { ...this.kept, ...more });
  }

  /** It became evidence, or it never will: the next measurement begins anew. */
  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Takes away checkpoints that nobody has gone on with for so long that they would not count. */
export function dropOldCheckpoints(state_dir: string, max_age_ms: number, now_ms: number): void {
  const root = join(state_dir, "checkpoints");
  let names: string[];
  try {
    names = readdirSync(root);
  } catch {
    return; // nothing was ever interrupted
  }
  for (const name of names) {
    const dir = join(root, name);
    const stat = statSync(dir, { throwIfNoEntry: false });
    if (stat !== undefined && now_ms - stat.mtimeMs > max_age_ms) {
      rmSync(dir, { recursive: true, force: true });
    }
  }
}
