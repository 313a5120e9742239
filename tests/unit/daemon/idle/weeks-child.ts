import type { Clock } from "../../../../src/core/clock.ts";
import type {
  CalibrationChild,
  ChildHooks,
  ChildOutcome,
} from "../../../../src/daemon/idle/calibration-run.ts";
import type { ChildEnd } from "../../../../src/daemon/idle/protocol.ts";

const MINUTE_MS = 60_000;
const STEPS = 9;
const EXITED = { exit_code: 0, signal: null, spawn_error: null };

/** The world as far as a calibration feels it. */
interface Luck {
  chance(share: number): boolean;
  between(least: number, most: number): number;
  childGone(): void;
}

/** A calibration of nine steps, each of some minutes. */
export class WeeksChild implements CalibrationChild {
  readonly #weeks: Luck;
  readonly #clock: Clock;
  readonly #hooks: ChildHooks;
  readonly ended: Promise<ChildOutcome>;
  #resolve: (outcome: ChildOutcome) => void = () => undefined;
  #dead = false;
  asked = false;
  asked_ms = 0;

  constructor(weeks: Luck, clock: Clock, hooks: ChildHooks) {
    this.#weeks = weeks;
    this.#clock = clock;
    this.#hooks = hooks;
    this.ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  giveWay(): void {
    this.asked = true;
    this.asked_ms = this.#clock.monotonic_ms();
  }

  async end(): Promise<void> {
    this.#finish(null);
  }

  die(): void {
    this.#dead = true;
  }

  #finish(said: ChildEnd | null): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#weeks.childGone();
    this.#resolve({ said, exit: EXITED, stderr: "" });
  }

  #tell(done: number): void {
    const left_s = (STEPS - done) * 600;
    this.#hooks.onProgress({
      message: "measuring",
      steps_done: done,
      steps_about: STEPS,
      low_s: left_s,
      high_s: left_s,
    });
  }

  async run(
    from: number,
    { keep, done }: { keep: (steps: number) => void; done: () => ChildEnd },
  ): Promise<void> {
    await Promise.resolve();
    if (this.#weeks.chance(0.2)) {
      const why = "runner ollama holds a model";
      return this.#finish({ event: "refused", code: "not_alone", exit_code: 75, why });
    }
    this.#tell(from);
    for (let steps = from + 1; steps <= STEPS; steps += 1) {
      await this.#clock.sleep(this.#weeks.between(5, 15) * MINUTE_MS);
      if (this.#dead) return undefined;
      keep(steps);
      this.#tell(steps);
      if (steps === STEPS) break;
      if (this.asked) return this.#finish({ event: "gave_way" });
      if (this.#weeks.chance(0.01)) {
        return this.#finish({ event: "came_to_nothing", why: "too noisy: it was not to be told" });
      }
    }
    const said = done();
    return this.#finish(said);
  }
}
