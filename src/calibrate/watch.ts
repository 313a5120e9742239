import type { Clock } from "../core/clock.ts";
import type { LoadedModels } from "../runners/index.ts";
import type { InFlight } from "./client-meter.ts";

/** A runner that is not ours and that may hold a model on this device. */
export interface Neighbour {
  name: string;
  loaded: () => Promise<LoadedModels>;
}

export interface WatchOptions {
  /** Runners that must hold nothing. */
  neighbours: readonly Neighbour[];
  /** Models that our own server holds; it must be the measured one alone. Null: cannot be asked. */
  own: (() => Promise<LoadedModels>) | null;
  isOurs: (model: string) => boolean;
  /** How many slots of our server are at work; null where it does not tell. */
  busySlots: (() => Promise<number | null>) | null;
  in_flight: InFlight;
  workers: number;
  clock: Clock;
  /** Milliseconds between two looks [1000]. */
  interval_ms?: number | undefined;
  /** How long our requests must have been under way before slots are counted [200]. */
  settled_ms?: number | undefined;
}

export interface Watched {
  /** False: somebody else was there. Null: cannot be told, which is not the same as nobody. */
  alone: boolean | null;
  /** Why not, or why it cannot be told. */
  reason: string | null;
  /** Most slots at work while all our workers waited for answers; null where that was never seen. */
  busy_slots: number | null;
}

const INTERVAL_MS = 1000;
const SETTLED_MS = 200;
/** One slow answer of a server that is at work is no news; three in a row are. */
const LOOKS = 3;
/** Slots at work beyond our own requests, look after look, before it is another client. */
const FOREIGN_LOOKS = 2;
/** Looks with all workers waiting, before the slots seen at work say how many there are. */
const SURE_LOOKS = 3;

/** What a neighbour holds: nothing, something (in words), or it cannot be told (in words). */
async function held(
  neighbour: Neighbour,
): Promise<{ held: string | null; unreadable: string | null }> {
  let reason: string | null = null;
  for (let look = 1; look <= LOOKS; look += 1) {
    const loaded = await neighbour.loaded();
    if (loaded.absent === true) return { held: null, unreadable: null };
    const { models } = loaded;
    if (models !== null) {
      const what =
        models.length === 0 ? null : `runner "${neighbour.name}" holds ${models.join(", ")}`;
      return { held: what, unreadable: null };
    }
    reason = loaded.reason;
  }
  const why = reason ?? "it gives no reason";
  return { held: null, unreadable: `what runner "${neighbour.name}" holds cannot be read: ${why}` };
}

/**
 * Whether all these runners hold nothing. `reason` says what one holds, or which cannot be asked: what
 * cannot be read may be there.
 */
export async function nothingHeld(
  neighbours: readonly Neighbour[],
): Promise<{ alone: boolean | null; reason: string | null }> {
  let unreadable: string | null = null;
  for (const neighbour of neighbours) {
    const look = await held(neighbour);
    if (look.held !== null) return { alone: false, reason: look.held };
    unreadable ??= look.unreadable;
  }
  return { alone: unreadable === null ? true : null, reason: unreadable };
}

/** Looks around during one period, at its start, at its end, and in between. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #over = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #seen: string | null = null;
  #unreadable: string | null = null;
  #foreign = 0;
  #busy: number | null = null;
  #full_looks = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#lookAround();
    this.#loop = this.#run();
  }

  /** The last look, and what all of them say. */
  async stop(): Promise<Watched> {
    await this.end();
    await this.#lookAround();
    const reason = this.#seen ?? this.#unreadable;
    const alone = this.#seen !== null ? false : this.#unreadable === null ? true : null;
    return { alone, reason, busy_slots: this.#full_looks < SURE_LOOKS ? null : this.#busy };
  }

  /** No last look: there is nothing left to look at. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { clock, interval_ms = INTERVAL_MS } = this.#options;
    for (;;) {
      await clock.sleep(interval_ms, this.#over.signal);
      if (this.#over.signal.aborted) return;
      await this.#lookAround();
      await this.#lookAtSlots();
    }
  }

  async #lookAround(): Promise<void> {
    const { neighbours, own, isOurs } = this.#options;
    const around = await nothingHeld(neighbours);
    if (around.alone === false) this.#seen ??= around.reason;
    if (around.alone === null) this.#unreadable ??= around.reason;
    if (own === null) return;
    let loaded = await own();
    for (let look = 1; look < LOOKS && loaded.models === null; look += 1) loaded = await own();
    if (loaded.models === null) {
      this.#unreadable ??= `what the measured runner holds cannot be read: ${loaded.reason ?? ""}`;
      return;
    }
    const other = loaded.models.find((model) => !isOurs(model));
    if (other !== undefined) this.#seen ??= `another client loaded ${other}`;
  }

  /** Says something only while our own requests have neither begun nor ended for a moment. */
  async #lookAtSlots(): Promise<void> {
    const { busySlots, in_flight, workers, settled_ms = SETTLED_MS } = this.#options;
    if (busySlots === null || in_flight.settled_ms < settled_ms) return;
    const ours = in_flight.count;
    const busy = await busySlots();
    if (busy === null || in_flight.settled_ms < settled_ms) return;
    this.#foreign = busy > ours ? this.#foreign + 1 : 0;
    if (this.#foreign >= FOREIGN_LOOKS) {
      this.#seen ??= `${busy} slots were at work with ${ours} requests of ours: another client uses one`;
    }
    if (ours < workers) return;
    this.#full_looks += 1;
    this.#busy = Math.max(this.#busy ?? 0, Math.min(busy, workers));
  }
}
