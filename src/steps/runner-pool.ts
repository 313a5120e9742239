import { errorMessage } from "../core/errors.ts";
import type { Runner, RunnerSettings } from "../runners/index.ts";
import { attachedRunner, type StepJob } from "./step-job.ts";
import type { OwnRunner, Rooms } from "./rooms.ts";

/** A runner that is ready to be used. */
export interface ReadyRunner {
  runner: Runner;
  /** For a step's child. */
  attached: StepJob["runner"];
  api_key: string | null;
  /** True where this run has started it. */
  own: boolean;
  /** What a reader of the bundle should know of it. */
  notes: string[];
}

interface OwnState {
  name: string;
  settings: RunnerSettings;
  process: OwnRunner;
  /** How it ended by itself, or null while it lives. */
  ended: string | null;
}

/** A server that does not answer within this is hung: the next entry deserves a new one. */
const STATUS_LIMIT_S = 10;

/**
 * The runners of one run. One that is declared with `start` is started at its first use and shared
 * by the steps that use it until `stop`; at most one such runner lives at a time, since two models
 * rarely fit. One that died or hangs is started anew for the next step, which says so.
 */
export class RunnerPool {
  readonly #rooms: Rooms;
  readonly #work_dir: string;
  #own: OwnState | null = null;

  constructor(rooms: Rooms, work_dir: string) {
    this.#rooms = rooms;
    this.#work_dir = work_dir;
  }

  /** Throws a known error where the runner cannot be had. */
  async use(name: string, signal: AbortSignal): Promise<ReadyRunner> {
    const settings = this.#rooms.resolveRunner(name);
    const notes: string[] = [];
    const stop = async (): Promise<void> => {
      const fault = await this.stop();
      if (fault !== null) notes.push(fault);
    };
    if (this.#own !== null && this.#own.name !== name) await stop();
    if (settings.start === null) {
      const url = settings.url ?? "";
      return {
        runner: this.#rooms.connect(settings),
        attached: attachedRunner(settings, url),
        api_key: settings.api_key,
        own: false,
        notes,
      };
    }
    const trouble = await this.#trouble();
    if (trouble !== null) {
      await stop();
      notes.push(`the runner ${name} ${trouble}; it was started anew`);
    }
    this.#own ??= await this.#start(name, settings, signal);
    const { process } = this.#own;
    return {
      runner: process.runner,
      attached: attachedRunner(settings, process.url),
      api_key: process.runner.settings.api_key,
      own: true,
      notes,
    };
  }

  /** Why the runner that we started cannot serve another entry; null where it can or none runs. */
  async #trouble(): Promise<string | null> {
    if (this.#own === null) return null;
    if (this.#own.ended !== null) return `had ended (${this.#own.ended})`;
    const status = await this.#own.process.runner.status(STATUS_LIMIT_S);
    if (status.reachable || status.loading) return null;
    return `did not answer (${status.reason ?? "no reason given"})`;
  }

  async #start(name: string, settings: RunnerSettings, signal: AbortSignal): Promise<OwnState> {
    const process = await this.#rooms.startRunner(settings, { work_dir: this.#work_dir, signal });
    const state: OwnState = { name, settings, process, ended: null };
    const ends = async (): Promise<void> => {
      const exit = await process.exited;
      state.ended = exit.signal ?? `exit ${exit.exit_code ?? "?"}`;
    };
    void ends();
    return state;
  }

  /** Keeps the log of the runner of ours within bounds. */
  trim(): void {
    this.#own?.process.trim();
  }

  /** How the runner of ours ended, if it has; for the cause of a failed step. */
  ended(): string | null {
    return this.#own?.ended ?? null;
  }

  /** Stops the runner of ours, if there is one. Gives what went wrong with it, or null. */
  async stop(): Promise<string | null> {
    const own = this.#own;
    this.#own = null;
    try {
      await own?.process.stop();
      return null;
    } catch (error) {
      // What survives SIGKILL survives us, too: the run goes on and says so.
      return `the runner ${own?.name ?? ""} could not be stopped: ${errorMessage(error)}`;
    }
  }
}
