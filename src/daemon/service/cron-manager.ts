import { existsSync, rmSync, writeFileSync } from "node:fs";
import { findBlock, readCrontab, withBlock, writeCrontab } from "./crontab.ts";
import type { ServiceHost } from "./host.ts";
import { daemonPid } from "./inspect.ts";
import { cronStates, livingDaemon } from "./living.ts";
import { stepIsAdoptable, until, untilStopping, type ServiceManager } from "./manager.ts";
import { placesOf, type Places } from "./places.ts";
import { shellQuote } from "./quote.ts";
import type { ServiceRecord } from "./record.ts";
import { managerError, step, writing, type Step } from "./steps.ts";

const START_LIMIT_MS = 30_000;
/** The daemon ends a running step itself after `--stop-within`. */
const STOP_LIMIT_MS = 100_000;
/** A start in vain (it met the lock of the daemon before) is done again after so long. */
const AGAIN_MS = 3000;
/** Longest command line that every cron takes. */
const MOST_CHARACTERS = 990;

/** cron starts, and that is all: what it started is found by what the daemon says of itself. */
export class CronManager implements ServiceManager {
  readonly #host: ServiceHost;
  readonly #record: ServiceRecord | undefined;
  /** What the crontab is to hold. */
  readonly #block: string;
  readonly #places: Places;

  constructor(host: ServiceHost, record: ServiceRecord | undefined, block: string) {
    this.#host = host;
    this.#record = record;
    this.#block = block.trimEnd();
    this.#places = placesOf("cron", host);
  }

  #pid(): number | null {
    return this.#record === undefined ? null : daemonPid(this.#record.state_dir);
  }

  /** All that cron has started and that lives: one, or also that of a station from before. */
  #pids(): number[] {
    const states = cronStates(this.#host, this.#places, this.#record);
    const pids = states.map((state_dir) => livingDaemon(state_dir));
    return [...new Set(pids.filter((pid) => pid !== null))];
  }

  /** Those of them that are of another station than ours. */
  #others(): number[] {
    const own = this.#record?.state_dir;
    const states = cronStates(this.#host, this.#places, this.#record);
    const pids = states.filter((path) => path !== own).map((path) => livingDaemon(path));
    return [...new Set(pids.filter((pid) => pid !== null))];
  }

  #signal(name: NodeJS.Signals, pids = this.#pids()): void {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It ended between the look and the signal.
      }
    }
  }

  async #gone(left = () => this.#pids()): Promise<void> {
    if (await until(() => left().length === 0, STOP_LIMIT_MS, this.#host.clock)) return;
    const said = `pid ${left().join(" and ")} does not end`;
    throw managerError("the daemon", said, "`touchstoned logs` says more.");
  }

  /** Ends the daemon; cron is kept from starting another one meanwhile. */
  async #end(now: boolean): Promise<void> {
    if (this.#pids().length === 0) return;
    this.#signal("SIGTERM");
    if (now && this.#record !== undefined) {
      await untilStopping(this.#record, this.#host.clock);
      this.#signal("SIGTERM");
    }
    await this.#gone();
  }

  evict(): Step[] {
    return [
      step(
        "run",
        `kill ${this.#others().join(" ")} (the daemon of another station)`,
        () => this.#others().length > 0,
        () => {
          this.#signal("SIGTERM", this.#others());
          return this.#gone(() => this.#others());
        },
      ),
    ];
  }

  async require(): Promise<void> {
    if (!this.#host.has("crontab")) {
      throw managerError("cron", "it is not installed here", "Debian: sudo apt install cron");
    }
    await readCrontab(this.#host);
    const { station = "", crash_log = "" } = this.#record ?? {};
    if ([station, crash_log, this.#places.lib].some((path) => path.includes("\\"))) {
      // Some take `\\` for one backslash, others for two.
      throw managerError("cron", "a path with a backslash in it cannot be told to every cron");
    }
    if (this.#block.split("\n").some((line) => line.length > MOST_CHARACTERS)) {
      throw managerError("cron", "the paths are too long for a line of a crontab");
    }
  }

  activate(changed: () => boolean): Step[] {
    const { launch, stopped } = this.#places;
    const wanted = this.#block;
    const there = async () => findBlock(await readCrontab(this.#host))?.join("\n");
    const put = async (): Promise<void> =>
      writeCrontab(this.#host, withBlock(await readCrontab(this.#host), wanted));
    return [
      {
        ...step(
          "write",
          `the crontab of ${this.#host.user}`,
          async () => (await there()) !== wanted,
          put,
        ),
        content: `${wanted}\n`,
      },
      step(
        "remove",
        stopped,
        () => existsSync(stopped),
        () => rmSync(stopped, { force: true }),
      ),
      step(
        "run",
        `/bin/sh ${shellQuote(launch)} --cron daemon ...`,
        () => changed() || this.#pid() === null,
        () => (this.#pid() === null ? this.start() : this.restart()),
      ),
    ];
  }

  deactivate(): Step[] {
    const { user } = this.#host;
    return [
      step(
        "remove",
        `the block in the crontab of ${user}`,
        async () => findBlock(await readCrontab(this.#host)) !== undefined,
        async () => writeCrontab(this.#host, withBlock(await readCrontab(this.#host), null)),
      ),
      step(
        "run",
        `kill ${this.#pids().join(" ")}`.trim(),
        () => this.#pids().length > 0,
        () => this.#end(false),
      ),
    ];
  }

  async start(): Promise<void> {
    const record = this.#record;
    rmSync(this.#places.stopped, { force: true });
    if (record === undefined || this.#pid() !== null) return;
    const words = ["--cron", "daemon", "--station", record.station, "--stop-within", "60"];
    const line = ["/bin/sh", this.#places.launch, ...words].map((word) => shellQuote(word));
    // Without our terminal: it is to outlive it.
    const script = `(${line.join(" ")} </dev/null >>${shellQuote(record.crash_log)} 2>&1 &)`;
    const { clock } = this.#host;
    const begin = async (): Promise<boolean> => {
      await this.#host.run("/bin/sh", ["-c", script]);
      return until(() => this.#pid() !== null, AGAIN_MS, clock);
    };
    if (await until(begin, START_LIMIT_MS, clock)) return;
    throw managerError(
      "the daemon",
      "it did not start",
      `\`touchstoned logs\` and ${record.crash_log} say why.`,
    );
  }

  /** Also cron is kept from starting it, until `start`. */
  async stop(now: boolean): Promise<void> {
    const { stopped } = this.#places;
    writing(stopped, () => writeFileSync(stopped, ""));
    await this.#end(now);
  }

  async restart(): Promise<void> {
    if (this.#record !== undefined && stepIsAdoptable(this.#record)) {
      this.#signal("SIGKILL");
      await this.#gone();
    } else {
      await this.#end(true);
    }
    await this.start();
  }
}
