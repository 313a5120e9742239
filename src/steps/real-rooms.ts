import { trimLog } from "../core/capped-file.ts";
import { freeDiskMb } from "../core/disk.ts";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { errorMessage, TouchstonedError } from "../core/errors.ts";
import { ensureDir, writeFileUnsynced } from "../core/files.ts";
import { ulidSource } from "../core/ids.ts";
import { prettyJson } from "../core/json.ts";
import { startTree, type TreeMark } from "../core/process.ts";
import { processIdentity } from "../core/process-table.ts";
import { selfCommand } from "../core/program.ts";
import {
  comparableUrl,
  evalStepFault,
  judgeModel,
  judgeRunnerName,
  judgeStepFault,
  loadEvalConfig,
  loadJudgeConfig,
  loadPack,
  loadStepFault,
} from "../eval/index.ts";
import { usedMemoryMb } from "../probes/index.ts";
import { connectRunner, startRunner } from "../runners/index.ts";
import {
  acquireModelLock,
  confine,
  inheritedModelLock,
  lockEnvironment,
  resolveLockPath,
  resolveRunner,
  Turn,
  type ModelLock,
  type Station,
} from "../station/index.ts";
import { CappedLog, LOG_MAX_BYTES } from "./capped-log.ts";
import { confineModel, loadNamedModel } from "./named-model.ts";
import type { HeldLock, Loaders, Rooms, RunningStep } from "./rooms.ts";
import type { StepJob } from "./step-job.ts";

export interface RealRoomsOptions {
  station: Station;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
  /** Told once when the lock is held by somebody else. */
  onWait?: (text: string) => void;
}

const FAULTS = { load: loadStepFault, eval: evalStepFault, judge: judgeStepFault };

/** Starts the child of a step: its own tree, the lock as descriptor 3, its output in the bundle. */
function startStep(
  job: StepJob,
  api_key: string | null,
  lock: ModelLock,
  options: { clock: Clock; token: string; onTree?: ((mark: TreeMark) => void) | undefined },
): RunningStep {
  ensureDir(job.bundle_dir);
  const job_path = join(job.bundle_dir, `${job.kind}.job.json`);
  const log = new CappedLog(join(job.bundle_dir, `${job.kind}.log`));
  // Read at once, by that child alone.
  writeFileUnsynced(job_path, prettyJson(job));
  const [file, ...args] = selfCommand();
  const { env, descriptor } = lockEnvironment(lock);
  options.onTree?.({ root: null, token: options.token });
  const tree = startTree(
    {
      file,
      args: [...args, "_step", job.kind, "--job", job_path],
      token: options.token,
      env,
      stdin: "pipe",
      stdout: log.fd,
      stderr: log.fd,
      descriptors: [descriptor],
    },
    options.clock,
  );
  const root = tree.pid === undefined ? undefined : processIdentity(tree.pid);
  if (root !== undefined) options.onTree?.({ root, token: options.token });
  // The pipe stays open as long as we live: its end tells the step that we are gone.
  tree.stdin?.on("error", () => undefined);
  tree.stdin?.write(`${JSON.stringify({ api_key })}\n`);
  return {
    tree,
    log_path: log.path,
    output: () => log.tail(),
    trim: () => log.trim(),
    close: () => log.close(),
  };
}

/** The world of a station on this machine. A daemon gives the station new settings as it runs. */
export function realRooms(options: RealRoomsOptions): Rooms {
  const { station, clock, env } = options;
  const new_id = ulidSource(clock);
  const locks = new Map<object, ModelLock>();
  let turn: Turn | undefined;
  return {
    clock,
    new_id,
    async lock({ wait_s, purpose, run_id, signal, comes_back }) {
      // Under `touchstoned lock run` the lock is there already, and not ours to give back.
      const inherited = inheritedModelLock(env);
      if (inherited !== undefined) {
        const shared: HeldLock = { path: inherited.path, release: () => undefined };
        locks.set(shared, inherited);
        return shared;
      }
      const { path } = resolveLockPath(env, station.machine);
      if (comes_back === true) turn ??= new Turn(path);
      const lock = await acquireModelLock({
        path,
        wait_s,
        holder: { purpose, run_id },
        clock,
        signal,
        ...(comes_back === true && turn !== undefined ? { turn } : {}),
        onWait: ({ text }) => options.onWait?.(`waiting for the model lock, ${text}`),
      });
      locks.set(lock, lock);
      return lock;
    },
    resolveRunner: (name) => resolveRunner(station.machine, name),
    connect: (settings) => connectRunner(settings, { clock }),
    async startRunner(settings, { work_dir, signal }) {
      const started = await startRunner(settings, { clock, new_id, work_dir, signal, env });
      return { ...started, trim: () => trimLog(started.log_path, LOG_MAX_BYTES) };
    },
    used_mb: () => usedMemoryMb(),
    free_disk_mb: freeDiskMb,
    startStep(job, { api_key, lock, onTree }) {
      const held = locks.get(lock);
      if (held === undefined) throw new Error("a step needs the lock that was taken here");
      return startStep(job, api_key, held, { clock, token: new_id(), onTree });
    },
    stepFault: (kind, bundle_dir, started_ms) => FAULTS[kind](bundle_dir, started_ms),
    judgeTarget(path, model) {
      const { config } = loadJudgeConfig(path);
      const declared = station.machine.runners.map(({ name, url }) => ({ name, url: url ?? null }));
      return {
        runner: judgeRunnerName(config, undefined, declared) ?? null,
        model: judgeModel(config, model ?? undefined),
      };
    },
  };
}

export interface LoaderOptions {
  /** Refuse a model disk file whose model was changed since, instead of a warning. */
  strict_cache: boolean;
}

/** Loaders of the files that entries of this station name. */
export function realLoaders(
  station: Pick<Station, "root" | "machine">,
  options: LoaderOptions,
): Loaders {
  const declared = station.machine.runners;
  return {
    confine: (path, what) => confine(station.root, path, what),
    confineModel: (path, what) => confineModel(station, path, what),
    model: (path, named) => loadNamedModel(station, path, named, options),
    pack(path) {
      const { pack, sha256 } = loadPack(path);
      return { sha256, id: pack.id };
    },
    config(path) {
      const { config, sha256, warnings } = loadEvalConfig(path);
      const base = config.endpoint?.base_url;
      const match = declared.find(
        ({ url }) =>
          url !== undefined && base !== undefined && comparableUrl(url) === comparableUrl(base),
      );
      return { sha256, runner: match?.name ?? null, warnings };
    },
    judge_config(path) {
      const { config, sha256 } = loadJudgeConfig(path);
      const names = declared.map(({ name, url }) => ({ name, url: url ?? null }));
      const runner = judgeRunnerName(config, undefined, names);
      // An unknown runner is found now, not after the eval.
      if (runner !== undefined) resolveRunner(station.machine, runner);
      return { sha256, warnings: [] };
    },
  };
}

/** Claims a run's directory for this process, by a lock file of its own in it. */
export async function claimDirectory(
  directory: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ release(): void }> {
  try {
    return await acquireModelLock({
      path: join(directory, "run.lock"),
      wait_s: 0,
      holder: { purpose: "queue run", run_id: null },
      clock,
      signal,
    });
  } catch (error) {
    if (!(error instanceof TouchstonedError) || error.code !== "lock_busy") throw error;
    throw new TouchstonedError({
      code: "run_busy",
      exitCode: error.exitCode,
      message: `${directory} is being run by another process: ${errorMessage(error)}`,
      hint: "Wait for it, or stop it first.",
    });
  }
}
