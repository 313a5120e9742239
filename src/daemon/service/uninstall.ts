import { existsSync, lstatSync, readdirSync, rmdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import { shellWord } from "../../core/shell-word.ts";
import { userCacheDir } from "../../core/user-dirs.ts";
import { loadMachineSettings, lockPlace } from "../../station/index.ts";
import { isInside, machineConfigPath } from "../../station/resident.ts";
import { installedKind, requireRoot, type Wanted } from "./choice.ts";
import type { ServiceHost } from "./host.ts";
import { installedKinds } from "./inspect.ts";
import { endStep, stepLives } from "./manager.ts";
import { livingDaemon } from "./living.ts";
import { managerOf } from "./managers.ts";
import { placesOf, type Places } from "./places.ts";
import { readRecord, type ServiceRecord } from "./record.ts";
import { perform, removeStep, step, type Step, type StepDone, type Watcher } from "./steps.ts";
import type { ManagerKind } from "./types.ts";

/** One file for each user whose services run without a login. */
const LINGER_DIR = "/var/lib/systemd/linger";

export interface UninstallOptions {
  wanted: Wanted | undefined;
  /** State of our own goes as well. */
  purge: boolean;
  /** With `purge`: the runs, too. */
  runs: boolean;
  /** With `purge`: whose state goes, also where no service is installed that names it. */
  state?: { root: string; state_dir: string; runs_dir: string } | undefined;
  watcher: Watcher;
}

/** Something that stays, and whose it is. */
interface Staying {
  path: string;
  what: string;
}

export interface UninstallPlan {
  /** null: nothing is installed. */
  manager: ManagerKind | null;
  station: string | null;
  /** In this order. */
  steps: Step[];
  /** Paths of the state that go; empty without `purge`. */
  purged: string[];
  stays: Staying[];
}

export interface UninstallOutcome {
  manager: ManagerKind | null;
  dry_run: boolean;
  steps: StepDone[];
  changed: boolean;
  stays: Staying[];
}

/** Whose state goes: an installed service's, or one that no service runs any more. */
type Purged = Pick<ServiceRecord, "station" | "state_dir" | "runs_dir"> &
  Partial<Pick<ServiceRecord, "account" | "env">>;

function names(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}

/** What of the state is a person's: runs, unless they are asked for, and evidence that no git has yet. */
function keepsOf(record: Purged, runs: boolean): Staying[] {
  const { state_dir, runs_dir } = record;
  const outbox = join(state_dir, "outbox");
  const keeps: Staying[] = [];
  if (!runs && names(runs_dir).length > 0)
    keeps.push({ path: runs_dir, what: "runs: your results" });
  if (names(outbox).length > 0) {
    keeps.push({
      path: outbox,
      what: "evidence that is not committed yet: touchstoned evidence commit",
    });
  }
  return keeps;
}

/** The state that goes with `--purge`: everything of this station's but what is a person's. */
function purgedPaths(
  host: ServiceHost,
  record: Purged,
  keeps: readonly Staying[],
  runs: boolean,
): string[] {
  const { state_dir, runs_dir } = record;
  const kept = keeps.map(({ path }) => path);
  const paths = names(state_dir)
    .map((name) => join(state_dir, name))
    // Not what holds something that is kept, either.
    .filter((path) => !kept.some((keep) => isInside(path, keep)));
  const away = runs && !isInside(state_dir, runs_dir) && existsSync(runs_dir) ? [runs_dir] : [];
  // Of the service's account, and of whoever installed it: root, for a service of the system.
  const own = { HOME: host.home, XDG_CACHE_HOME: host.env["XDG_CACHE_HOME"] };
  const theirs = { HOME: record.account?.home, ...record.env };
  const caches = [...(record.account === undefined ? [] : [theirs]), own].map((env) =>
    userCacheDir(env),
  );
  return [...paths, ...away, ...new Set(caches.filter((path) => existsSync(path)))];
}

/** The model lock of that account; undefined where its machine.yaml says it in a way that is wrong. */
function lockPath(env: ServiceHost["env"]): string | undefined {
  try {
    return lockPlace(env, loadMachineSettings(env)).path;
  } catch {
    return undefined;
  }
}

/** Of the machine, and perhaps in use by others: named where everything of ours goes. */
function sharedOf(env: ServiceHost["env"], user: string | undefined): Staying[] {
  const lock = lockPath(env);
  return [
    ...(lock === undefined
      ? []
      : [{ path: lock, what: "the model lock, of all who measure here" }]),
    ...(user === undefined
      ? []
      : [
          {
            path: join(LINGER_DIR, user),
            what: `services run without a login; if no other needs that: loginctl disable-linger ${user}`,
          },
        ]),
  ];
}

/** What is not ours to take away. */
function staysOf(host: ServiceHost, record: Purged, keeps: Staying[], purge: boolean): Staying[] {
  const env =
    record.account === undefined ? host.env : { HOME: record.account.home, ...record.env };
  const later = `touchstoned uninstall --purge --station ${shellWord(record.station)}`;
  const embedded = join(dirname(record.state_dir), "embedded");
  return [
    { path: record.station, what: "the station: inbox, packs, evidence" },
    { path: machineConfigPath(env), what: "your machine.yaml" },
    ...(purge ? sharedOf(env, record.account?.user) : []),
    ...(purge ? keeps : [{ path: record.state_dir, what: `queue, log, runs and keys: ${later}` }]),
    { path: embedded, what: "the embedded runner, which every station uses" },
  ].filter(({ path }) => existsSync(path));
}

/** Files of the installation beside the definition. */
function programPaths(places: Places, record: ServiceRecord | undefined): string[] {
  const { lib, launch, current, versions, stopped } = places;
  const crash = record === undefined ? [] : [record.crash_log];
  return [
    launch,
    current,
    `${current}.new`,
    versions,
    stopped,
    join(lib, "cron.lock"),
    ...crash,
    places.record,
  ];
}

/** Takes a directory away where nothing is in it any more. */
function emptyDirStep(path: string): Step {
  const empty = () => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return {
    what: "remove",
    target: path,
    needed: () => empty() && names(path).length === 0,
    run: () => rmdirSync(path),
  };
}

/** A step whose daemon was killed runs on, and holds the model lock. */
function endStepOf(record: ServiceRecord, { clock }: ServiceHost): Step {
  return step(
    "run",
    "end the step that runs on; its job goes on where it stopped when a daemon runs again",
    () => stepLives(record),
    () => endStep(record, clock),
  );
}

/** Throws where a daemon works with the state that is to go. */
function refuseLiving({ state_dir, station }: Purged): void {
  const pid = livingDaemon(state_dir);
  if (pid === null) return;
  throw new TouchstonedError({
    code: "daemon_runs",
    exitCode: EXIT.refused,
    message: `a daemon (pid ${pid}) runs ${station}: nothing was removed`,
    hint: `End it first: kill ${pid}`,
  });
}

/** Nothing is installed: only the state of a station that is named goes. */
function planPurge(host: ServiceHost, { purge, runs, state }: UninstallOptions): UninstallPlan {
  if (!purge || state === undefined) {
    return { manager: null, station: null, steps: [], purged: [], stays: [] };
  }
  const { root: station, state_dir, runs_dir } = state;
  const left = { station, state_dir, runs_dir };
  refuseLiving(left);
  const keeps = keepsOf(left, runs);
  // A path with a slip in it has no state: nothing at all goes then.
  const there = existsSync(state_dir) || existsSync(runs_dir);
  const purged = there ? purgedPaths(host, left, keeps, runs) : [];
  return {
    manager: null,
    station,
    steps: [
      ...purged.map((path) => removeStep(path)),
      emptyDirStep(state_dir),
      emptyDirStep(dirname(state_dir)),
    ],
    purged,
    stays: staysOf(host, left, keeps, true),
  };
}

/** What `uninstall` will do. Looks only. */
export function planUninstall(host: ServiceHost, options: UninstallOptions): UninstallPlan {
  const { wanted, purge, runs, watcher } = options;
  if (wanted === undefined && installedKinds(host).length === 0) {
    return planPurge(host, options);
  }
  const kind = installedKind(host, wanted);
  if (!watcher.dry_run) requireRoot(host, kind, "uninstall --system");
  const places = placesOf(kind, host);
  const record = readRecord(places);
  const asked = options.state?.root;
  if (asked !== undefined && record !== undefined && asked !== record.station) {
    throw usageError(
      `the installed service runs ${record.station}, not ${asked}: nothing was removed`,
      "Without --station it is that service, and with --purge the state of its station, that goes.",
    );
  }
  const keeps = record === undefined ? [] : keepsOf(record, runs);
  const purged = purge && record !== undefined ? purgedPaths(host, record, keeps, runs) : [];
  return {
    manager: kind,
    station: record?.station ?? null,
    steps: [
      ...managerOf(kind, host, record).deactivate(),
      ...(record === undefined ? [] : [endStepOf(record, host)]),
      ...purged.map((path) => removeStep(path)),
      ...(purge && record !== undefined ? [emptyDirStep(record.state_dir)] : []),
      ...programPaths(places, record).map((path) => removeStep(path)),
      emptyDirStep(places.lib),
      ...(purge && record !== undefined ? [emptyDirStep(dirname(record.state_dir))] : []),
    ],
    purged,
    stays: record === undefined ? [] : staysOf(host, record, keeps, purge),
  };
}

/** Does what was planned. What is gone already is no trouble. */
export async function uninstallService(
  plan: UninstallPlan,
  watcher: Watcher,
): Promise<UninstallOutcome> {
  const steps = await perform(plan.steps, watcher);
  return {
    manager: plan.manager,
    dry_run: watcher.dry_run,
    steps,
    changed: steps.some(({ changed }) => changed),
    stays: plan.stays,
  };
}
