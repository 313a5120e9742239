import { statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../core/errors.ts";
import { machineConfigPath, openStation, POLICY_NAME, type Station } from "../station/index.ts";
import { choicesOf, type Setting } from "./setting.ts";

/** What a file is known by; two of the same size within one tick of the clock differ by inode. */
function keyOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

/**
 * machine.yaml and touchstoned.yaml of a running daemon. What is written into them holds from its next
 * look on; while one of them is faulty, what runs goes on by the last good ones and nothing new begins.
 */
export class Configuration {
  readonly #setting: Pick<Setting, "station" | "env" | "context">;
  #key: string;
  #fault: string | null = null;

  constructor(setting: Pick<Setting, "station" | "env" | "context">) {
    this.#setting = setting;
    this.#key = this.#look();
  }

  #look(): string {
    const { station, env } = this.#setting;
    return [machineConfigPath(env), join(station.root, POLICY_NAME)].map(keyOf).join(" ");
  }

  /** Why nothing new may begin; null where it may. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Reads both files where they changed. Returns what is worth a word. */
  async refresh(): Promise<string[]> {
    const key = this.#look();
    // A fault may be mended by a `chmod` elsewhere.
    if (key === this.#key && this.#fault === null) return [];
    const before = this.#fault;
    this.#key = key;
    const said = await this.#read();
    if (this.#fault !== null) return this.#fault === before ? [] : [this.#fault];
    return [before === null ? "the configuration was changed: read again" : "read again", ...said];
  }

  async #read(): Promise<string[]> {
    const { station, env, context } = this.#setting;
    let fresh: Station;
    try {
      fresh = await openStation({ explicit: station.root, env, cwd: station.root });
    } catch (error) {
      this.#fault = `the configuration has faults, nothing new begins: ${errorMessage(error)}`;
      return [];
    }
    if (!fresh.trusted) {
      this.#fault = `this station is not trusted any more, nothing new begins: ${fresh.trust_reason ?? ""}`;
      return [];
    }
    this.#fault = null;
    const { settings, machine, trusted, trust_reason } = fresh;
    Object.assign(station, { settings, machine, trusted, trust_reason });
    Object.assign(context, choicesOf(station));
    if (fresh.runs_dir === station.runs_dir) return [];
    return [`runs_dir ${fresh.runs_dir} is used from the next start of the daemon on`];
  }
}
