import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { StationStatus } from "../../../src/daemon/light.ts";
import { type RunningCommand } from "../../helpers/command.ts";
import { fakeOpenAi, goodChat } from "../../helpers/fake-openai.ts";
import type { Recorded, Reply } from "../../helpers/fake-http.ts";
import { waitFor } from "../../helpers/wait.ts";
import { Night, packText, processesWith } from "../steps/setting.ts";

/** Everything here starts programs, on machines that do other things as well. */
export const LIMIT_MS = 110_000;
export const TEST_MS = 400_000;

/** A gate in front of the fake runner's answers. */
class Gate {
  #open: (() => void) | null = null;
  #waiting: Promise<void> = Promise.resolve();
  asked = 0;

  shut(): void {
    if (this.#open !== null) return;
    this.#waiting = new Promise((resolve) => (this.#open = resolve));
  }

  open(): void {
    this.#open?.();
    this.#open = null;
  }

  async pass(): Promise<void> {
    this.asked += 1;
    await this.#waiting;
  }
}

export interface StationOptions {
  chat?: (request: Recorded, count: number) => Reply | undefined | Promise<Reply | undefined>;
  prompts?: number;
  machine?: Record<string, unknown>;
}

/** A station with a fake runner, whose daemons and steps the test starts and ends. */
export class DaemonStation {
  readonly night: Night;
  readonly gate = new Gate();

  private constructor(night: Night) {
    this.night = night;
  }

  static async make(options: StationOptions = {}): Promise<DaemonStation> {
    const night = new Night({});
    const station = new DaemonStation(night);
    const server = await fakeOpenAi({
      chat: async (request, count) => {
        const reply = await options.chat?.(request, count);
        await station.gate.pass();
        return reply ?? goodChat("fake");
      },
    });
    // Whatever a failed test leaves behind is ended, too.
    onTestFinished(() => {
      station.gate.open();
      for (const pid of processesWith(night.home)) process.kill(pid, "SIGKILL");
    });
    night.writeMachine({
      runners: [{ name: "local", kind: "openai", url: server.url }],
      ...options.machine,
    });
    night.write("touchstoned.yaml", "schema_version: 1\ninbox:\n  min_age_seconds: 1\n");
    night.write("pack.json", packText({ prompts: options.prompts ?? 1, max_tokens: 8 }));
    mkdirSync(join(night.root, "inbox"));
    return station;
  }

  get inbox(): string {
    return join(this.night.root, "inbox");
  }

  get state_dir(): string {
    const base = join(this.night.home, "state", "touchstoned");
    const name = readdirSync(base).find((one) => one.startsWith("station-"));
    return join(base, name ?? "no-state");
  }

  /** Puts a queue file into the inbox under its final name at once. */
  drop(name: string, entries: Record<string, unknown>[] = [{}]): void {
    const full = entries.map((entry) => ({ model: "fake", pack: "pack.json", ...entry }));
    const temporary = join(this.inbox, `.${name}.part`);
    writeFileSync(temporary, JSON.stringify({ entries: full }));
    renameSync(temporary, join(this.inbox, name));
  }

  async daemon(...args: string[]): Promise<RunningCommand> {
    const running = this.night.start("daemon", ...args);
    await waitFor(
      "the daemon",
      () => {
        if (running.child.exitCode !== null) throw new Error(running.output().stderr);
        return /daemon of .* runs as/.test(running.output().stderr);
      },
      LIMIT_MS,
    );
    return running;
  }

  async stop(daemon: RunningCommand): Promise<void> {
    daemon.child.kill("SIGTERM");
    await daemon.finished;
  }

  async json<T>(...args: string[]): Promise<T> {
    const { stdout, stderr, exit_code } = await this.night.run(...args, "--json");
    if (stdout === "") throw new Error(`${args.join(" ")}: exit ${exit_code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  status(): Promise<StationStatus> {
    return this.json<StationStatus>("status");
  }

  async jobs(): Promise<{ id: string; state: string; attempt_count: number; fence: number }[]> {
    return this.json("queue", "list", "--all");
  }

  /** Names in a folder of the inbox. */
  placed(folder: "done" | "failed" | "rejected"): string[] {
    const path = join(this.inbox, folder);
    return existsSync(path) ? readdirSync(path).sort() : [];
  }

  async waitPlaced(folder: "done" | "failed" | "rejected", count = 1): Promise<string[]> {
    const there = (): boolean => this.placed(folder).length >= count;
    await waitFor(`${count} files in ${folder}/`, there, LIMIT_MS);
    return this.placed(folder);
  }

  /** Violations that fsck finds. */
  async violations(): Promise<unknown[]> {
    return (await this.json<{ violations: unknown[] }>("fsck")).violations;
  }
}
