import { statSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../core/program.ts";
import { runForAnswer } from "../core/tool.ts";
import { machineConfigPath, POLICY_NAME, type Env, type Station } from "../station/resident.ts";
import type { OpenedStation } from "./base.ts";

/** What a file is known by; two of the same size within one tick of the clock differ by inode. */
function keyOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

export type Opening = { ok: true; station: Station } | { ok: false; reason: string };

/** Opens a station in a child: what reads YAML and checks schemas is not to stay in our memory. */
async function openInChild(root: string): Promise<Opening> {
  const [program, ...args] = selfCommand();
  const { exit_code, answer, complaints } = await runForAnswer(
    program,
    [...args, "_open-station", "--station", root],
    { cwd: "/", quiet: true },
  );
  if (exit_code === 0) return { ok: true, station: (JSON.parse(answer) as OpenedStation).station };
  const said = complaints.trim().replace(/^error: /, "");
  return { ok: false, reason: said === "" ? `exit ${exit_code ?? "by a signal"}` : said };
}

/**
 * machine.yaml and touchstoned.yaml of a running daemon. What is written into them holds from its next
 * look on; while one of them is faulty, what runs goes on by the last good ones and nothing new begins.
 */
export class Configuration {
  /** Gets the new settings. */
  readonly #station: Station;
  readonly #env: Env;
  readonly #open: (root: string) => Promise<Opening>;
  #key: string;
  #fault: string | null = null;

  constructor(station: Station, env: Env, open = openInChild) {
    this.#station = station;
    this.#env = env;
    this.#open = open;
    this.#key = this.#look();
  }

  #look(): string {
    const paths = [machineConfigPath(this.#env), join(this.#station.root, POLICY_NAME)];
    return paths.map((path) => keyOf(path)).join(" ");
  }

  /** Why nothing new may begin; null where it may. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Another text in one of the files, another mark. */
  get mark(): string {
    return this.#key;
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
    const station = this.#station;
    const opening = await this.#open(station.root);
    if (!opening.ok) {
      this.#fault = `the configuration has faults, nothing new begins: ${opening.reason}`;
      return [];
    }
    const { settings, machine, trusted, trust_reason, runs_dir } = opening.station;
    if (!trusted) {
      this.#fault = `this station is not trusted any more, nothing new begins: ${trust_reason ?? ""}`;
      return [];
    }
    this.#fault = null;
    Object.assign(station, { settings, machine, trusted, trust_reason });
    if (runs_dir === station.runs_dir) return [];
    return [`runs_dir ${runs_dir} is used from the next start of the daemon on`];
  }
}
