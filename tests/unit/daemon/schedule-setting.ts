import { Schedule } from "../../../src/daemon/schedule.ts";
import type { Scheduled } from "../../../src/station/resident.ts";
import { INBOX, queueText, World } from "../intake/world.ts";

export const HOUR = 3_600_000;
export const FILE = "/station/queues/nightly.yaml";
export const NIGHTLY: Scheduled = {
  name: "nightly",
  at: "0 22 * * *",
  file: "queues/nightly.yaml",
  catch_up_hours: 24,
};

/** A station in memory at 20:00 UTC with a file that is scheduled for 22:00. */
export class Evening {
  readonly world = new World();
  readonly said: string[] = [];
  readonly warned: string[] = [];
  distrust: string | null = null;
  #schedule: Schedule;

  constructor() {
    this.world.disk.makeDirs("/station/queues");
    this.world.clock.stepWall(Date.parse("2026-03-10T20:00:00Z") - this.world.clock.now_ms());
    this.write("one");
    this.#schedule = this.#open();
  }

  #open(): Schedule {
    const { disk, clock, new_id, store } = this.world;
    return new Schedule({
      disk,
      clock,
      new_id,
      store,
      inbox: INBOX,
      state_path: "/state/schedule.json",
      min_age_ms: 30_000,
      locate: (file) => `/station/${file}`,
      distrust: () => this.distrust,
      say: (text) => this.said.push(text),
      warn: (text) => this.warned.push(text),
    });
  }

  write(model: string, path = FILE): void {
    this.world.disk.put(path, queueText(model));
  }

  /** Another daemon begins, with what is on the disk. */
  restart(): void {
    this.#schedule = this.#open();
  }

  async look(entries: readonly Scheduled[] = [NIGHTLY]) {
    return this.#schedule.look(entries);
  }

  async after(ms: number, entries?: readonly Scheduled[]) {
    this.world.clock.advance(ms);
    return this.look(entries);
  }

  /** Names of files in the inbox. */
  inbox(): string[] {
    return this.world.disk
      .readdir(INBOX)
      .filter((name) => !/^(?:done|failed|rejected)$|^\./.test(name));
  }

  /** The daemon takes a file up and, once its jobs have ended, puts it away. */
  takeAway(): void {
    for (const name of this.inbox()) this.world.disk.unlink(`${INBOX}/${name}`);
  }
}
