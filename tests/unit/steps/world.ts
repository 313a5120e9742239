import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { jobLimitsSchema } from "../../../src/core/job-settings.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import type { TreeExit } from "../../../src/core/process.ts";
import type { Runner, RunnerSettings } from "../../../src/runners/index.ts";
import type { OwnRunner, Rooms } from "../../../src/steps/rooms.ts";
import type { RunEvent } from "../../../src/steps/run-events.ts";
import type { StepJob } from "../../../src/steps/step-job.ts";
import { runSubmission, type SubmissionOptions } from "../../../src/steps/submission.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** Every record is synced to the disk, which a test of what is recorded need not wait for. */
function memoryDir(): string {
  if (!existsSync("/dev/shm")) return tempDir();
  const path = mkdtempSync("/dev/shm/touchstoned-test-");
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What a step does in the fake world. */
export type StepPlay = "ok" | "fail" | "dead" | "hang" | "empty" | "vanish" | "late";

const EXITS: Record<StepPlay, TreeExit | null> = {
  ok: { exit_code: 0, signal: null, spawn_error: null },
  empty: { exit_code: 0, signal: null, spawn_error: null },
  fail: { exit_code: 1, signal: null, spawn_error: null },
  dead: { exit_code: 69, signal: null, spawn_error: null },
  vanish: { exit_code: null, signal: null, spawn_error: "no such program" },
  hang: null,
  // It had done its work.
  late: { exit_code: null, signal: "SIGKILL", spawn_error: null },
};

/** A world in which steps do what a test says and every thing that happens is written down. */
export class World {
  readonly dir = memoryDir();
  readonly clock = new FakeClock({ jumpSleeps: true });
  readonly log: string[] = [];
  /** How often the log of a runner of ours was kept within bounds. */
  trims = 0;
  readonly events: RunEvent[] = [];
  readonly stop = new AbortController();
  /** `KIND MODEL` to what happens at each run of that step; the last one stays. */
  readonly plays: Record<string, StepPlay[]> = {};
  residency: Runner["residency"] = "managed";
  loaded: string[] = [];
  unload: "ok" | "failed" = "ok";
  free_mb = 1e6;
  used_mb = 1000;
  judge: { runner: string | null; model: string } = { runner: null, model: "judge" };
  /** Names of runners that the run starts itself. */
  own: string[] = [];
  /** Ends the runner of ours. */
  endOwn: ((exit: TreeExit) => void) | null = null;
  reachable = true;
  onStep: (name: string) => void = () => undefined;
  #ids = 0;

  write(entries: unknown[], more: Record<string, unknown> = {}): string {
    const path = join(this.dir, "night.json");
    writeFileSync(path, JSON.stringify({ entries, ...more }));
    return path;
  }

  #runner(settings: RunnerSettings): Runner {
    return {
      settings,
      residency: this.residency,
      status: async () => ({
        reachable: this.reachable,
        reason: this.reachable ? null : "refused",
        loading: false,
        version: null,
        slots: null,
        slots_source: null,
        models: null,
      }),
      findFault: async () => null,
      loaded: async () => ({ models: this.loaded, reason: null }),
      load: async () => ({ outcome: "ok", fault: null, duration_s: 1 }),
      unload: async () => {
        this.log.push(`unload ${settings.name}`);
        return { outcome: this.unload, reason: this.unload === "ok" ? null : "would not" };
      },
      generate: () => Promise.reject(new Error("not asked here")),
      serverPid: async () => null,
    };
  }

  #play(job: StepJob): StepPlay {
    const plays = this.plays[`${job.kind} ${job.model.id}`] ?? ["ok"];
    return plays.length > 1 ? (plays.shift() ?? "ok") : (plays[0] ?? "ok");
  }

  #leave(job: StepJob, play: StepPlay): void {
    if (play === "ok" || play === "late")
      writeFileSync(join(job.bundle_dir, `${job.kind}.done`), "");
  }

  rooms(): Rooms {
    const { clock } = this;
    return {
      clock,
      new_id: () => `ID${String((this.#ids += 1)).padStart(4, "0")}`,
      lock: async ({ wait_s }) => {
        this.log.push(`lock ${wait_s}`);
        let held = true;
        return {
          path: "/lock",
          release: () => {
            if (held) this.log.push("unlock");
            held = false;
          },
        };
      },
      resolveRunner: (name) => ({
        name,
        kind: "llama-server",
        url: this.own.includes(name) ? null : `http://${name}`,
        api_key: null,
        start: this.own.includes(name)
          ? { binary: "x", model_file: "/x.gguf", args: [], context_length: 1, slots: 1 }
          : null,
        declared_slots: null,
      }),
      connect: (settings) => this.#runner(settings),
      startRunner: async (settings): Promise<OwnRunner> => {
        this.log.push(`start ${settings.name}`);
        const exited = new Promise<TreeExit>((resolve) => {
          this.endOwn = resolve;
        });
        return {
          runner: this.#runner(settings),
          url: `http://own-${settings.name}`,
          pid: 1,
          exited,
          trim: () => void (this.trims += 1),
          stop: async () => void this.log.push(`stop ${settings.name}`),
        };
      },
      used_mb: () => this.used_mb,
      free_disk_mb: () => this.free_mb,
      startStep: (job) => {
        mkdirSync(job.bundle_dir, { recursive: true });
        const name = `${job.kind} ${job.model.id} @${job.runner.name}`;
        this.log.push(name);
        const play = this.#play(job);
        this.#leave(job, play);
        const exit = EXITS[play];
        let finish: (exit: TreeExit) => void = () => undefined;
        const exited = new Promise<TreeExit>((resolve) => {
          finish = resolve;
          if (exit !== null) resolve(exit);
        });
        this.onStep(name);
        return {
          tree: {
            pid: 1,
            exited,
            members: () => [],
            end: async () => {
              finish({ exit_code: null, signal: "SIGTERM", spawn_error: null });
              return [];
            },
          },
          log_path: "/log",
          output: () => (play === "fail" ? "error: it broke\nhint: mend it" : ""),
          trim: () => undefined,
          close: () => undefined,
        };
      },
      stepFault(kind, bundle_dir) {
        try {
          readFileSync(join(bundle_dir, `${kind}.done`));
          return null;
        } catch {
          return `${kind}.done is missing`;
        }
      },
      judgeTarget: () => this.judge,
    };
  }

  /** What queue files may choose, and how what they name is read. */
  taking(): Pick<SubmissionOptions, "context" | "loaders"> {
    const path = (named: string) => join(this.dir, named);
    const load = (file: string) => ({ sha256: sha256Hex(readFileSync(file)), warnings: [] });
    return {
      context: {
        policy_defaults: { idle_timeout_s: { eval: 20 }, step_timeout_s: { load: 30 } },
        limits: jobLimitsSchema.parse({}),
        runner_names: ["a", "b"],
        allowed_reset_commands: ["true"],
      },
      loaders: {
        confine: path,
        confineModel: path,
        model: () => {
          throw new Error("no entry here names a model disk file");
        },
        pack: (file) => ({ ...load(file), id: "pack" }),
        config: (file) => ({ ...load(file), runner: null }),
        judge_config: load,
      },
    };
  }

  run(change: Partial<SubmissionOptions> = {}) {
    return runSubmission({
      ...this.taking(),
      file: join(this.dir, "night.json"),
      resume: null,
      lock_wait_s: 0,
      station_root: "/station",
      runs_dir: join(this.dir, "runs"),
      rooms: this.rooms(),
      claimDirectory: async () => ({ release: () => undefined }),
      signal: this.stop.signal,
      emit: (event) => void this.events.push(event),
      ...change,
    });
  }

  /** Steps that ran, `KIND MODEL @RUNNER`. */
  steps(): string[] {
    return this.log.filter((line) => /^(load|eval|judge) /.test(line));
  }
}

export function world(): World {
  const made = new World();
  writeFileSync(join(made.dir, "p"), "the pack");
  writeFileSync(join(made.dir, "j"), "the judge");
  return made;
}
