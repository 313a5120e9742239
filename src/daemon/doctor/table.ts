import { existsSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../../core/process-table.ts";
import { packageVersion } from "../../core/program.ts";
import { inspectGit } from "../../evidence/index.ts";
import { outboxState } from "../../evidence/light.ts";
import { stationTrust } from "../../intake/index.ts";
import { lockPlace, lockStatus, runsFault, type MachineSettings } from "../../station/index.ts";
import { wasStopped } from "../calibration/production.ts";
import { inspectService } from "../service/index.ts";
import { readSnapshot } from "../snapshot.ts";
import { readStatus, type StationStatus } from "../status.ts";
import { clockLines, clockSteps, clockSynchronized } from "./checks/clock.ts";
import { configLines } from "./checks/config.ts";
import { daemonLines } from "./checks/daemon.ts";
import { diskLines } from "./checks/disk.ts";
import { evidenceLines, realEvidence } from "./checks/evidence.ts";
import { folderLines } from "./checks/folders.ts";
import { gitLines } from "./checks/git.ts";
import { inboxLines, recentlyRejected } from "./checks/inbox.ts";
import { lockLines } from "./checks/locks.ts";
import { logLines } from "./checks/log.ts";
import { nodeLines, realNode } from "./checks/node.ts";
import { runnersLines, type RunnersInput } from "./checks/runners.ts";
import { serviceLines } from "./checks/service.ts";
import { storeLines } from "./checks/store.ts";
import type { Line } from "./line.ts";
import { clockSeen, disksOf, foldersOf, logsOf, ownFaults } from "./sources.ts";
import type { FoundStation, World } from "./world.ts";

type Lines = Line[] | Promise<Line[]>;

/** One thing that doctor looks at. */
export interface Check {
  /** Stable: `doctor --json` says it. */
  name: string;
  /** For the person who reads that it could not be looked at. */
  about: string;
  /** null: there is nothing to look at, since something before it is missing. */
  run: (world: World) => Line[] | null | Promise<Line[] | null>;
}

/** A check of what only a station has. */
function ofStation(look: (station: FoundStation, world: World) => Lines): Check["run"] {
  return (world) => (world.station === null ? null : look(world.station, world));
}

function statusOf({ root, state_dir }: FoundStation, { clock }: World): Promise<StationStatus> {
  return readStatus({ root, state_dir, now_ms: clock.now_ms() });
}

/** The runners that something in the station goes by. */
function neededRunners(machine: MachineSettings, station: FoundStation | null): string[] {
  const [only, ...others] = machine.runners.map(({ name }) => name);
  if (only !== undefined && others.length === 0) return [only];
  if (station === null) return [];
  const { local_models, defaults } = station.settings;
  return [local_models.runner, defaults.runner].filter((name) => name !== undefined);
}

function askedModel(
  needed: readonly string[],
  station: FoundStation | null,
): RunnersInput["model"] {
  const { runner = needed[0], model } = station?.settings.local_models ?? {};
  return model === undefined || runner === undefined ? null : { runner, id: model };
}

/** Runners that were stopped for a calibration; none while one may be at work. */
async function stoppedRunners(
  { env, station }: World,
  machine: MachineSettings,
): Promise<string[]> {
  if (station === null) return [];
  const names = machine.runners
    .map(({ name }) => name)
    .filter((name) => wasStopped(station.state_dir, name));
  if (names.length === 0) return [];
  const { held, mode } = await lockStatus(lockPlace(env, machine).path);
  return held && mode === "exclusive" ? [] : names;
}

async function runners(world: World): Promise<Line[] | null> {
  const { machine, station, config, env, clock, home } = world;
  if (machine === null || config === null || home === null) return null;
  const needed = neededRunners(machine, station);
  const model = askedModel(needed, station);
  const { machine_config: machine_path } = config;
  const stopped = await stoppedRunners(world, machine);
  return runnersLines({ machine, machine_path, needed, model, stopped, env, clock, home });
}

async function locks({ env, machine, station }: World): Promise<Line[]> {
  const snapshot = station === null ? undefined : readSnapshot(station.files.snapshot);
  return lockLines({
    model: lockPlace(env, machine ?? {}),
    daemon_path: station === null ? null : station.files.lock,
    daemon_pid: snapshot !== undefined && isAlive(snapshot.process) ? snapshot.process.pid : null,
  });
}

async function clockOf({ clock, platform, env, station }: World): Promise<Line[]> {
  const now_ms = clock.now_ms();
  const { seen, log_tail } = station === null ? { seen: [], log_tail: "" } : clockSeen(station);
  const synchronized = await clockSynchronized(platform, env);
  return clockLines({ now_ms, seen, synchronized, steps: clockSteps(log_tail, now_ms) });
}

/** Everything that is looked at, in the order in which one thing rests upon another. */
export const CHECKS: readonly Check[] = [
  {
    name: "node",
    about: "Node and the programs that are needed",
    run: ({ env, platform }) => nodeLines(realNode(env, platform)),
  },
  {
    name: "station",
    about: "the station, its two files and its trust",
    run: ({ config, trouble, machine }) =>
      configLines({ config, trouble, runners: machine?.runners.length ?? null }),
  },
  {
    name: "folders",
    about: "the file systems of station, state, runs and lock",
    run: (world) =>
      world.home === null
        ? null
        : folderLines({
            ...world,
            folders: foldersOf(world),
            isThere: existsSync,
            faults: world.station === null ? [] : ownFaults(world.station, world.home),
          }),
  },
  {
    name: "disk",
    about: "room on the disks",
    run: ofStation((station) => diskLines(disksOf(station))),
  },
  { name: "clock", about: "the clock", run: clockOf },
  {
    name: "locks",
    about: "the locks and who holds them",
    run: (world) => (world.home === null ? null : locks(world)),
  },
  {
    name: "daemon",
    about: "whether a daemon runs and moves",
    run: ofStation(async (station, world) =>
      daemonLines({
        status: await statusOf(station, world),
        snapshot: readSnapshot(station.files.snapshot),
        now_ms: world.clock.now_ms(),
      }),
    ),
  },
  {
    name: "service",
    about: "what starts the daemon by itself",
    run: async ({ env, station, home }) => {
      if (home === null) return null;
      const report = await inspectService(env);
      return serviceLines({ report, root: station?.root ?? null, version: packageVersion() });
    },
  },
  {
    name: "inbox",
    about: "the inbox",
    run: ofStation(async (station, world) => {
      const [inbox, now_ms] = [join(station.root, "inbox"), world.clock.now_ms()];
      const status = await statusOf(station, world);
      const rejected = recentlyRejected(inbox, now_ms);
      const distrust = existsSync(inbox) ? stationTrust(inbox, world.env).inbox() : null;
      return inboxLines({ inbox, status, now_ms, rejected, distrust });
    }),
  },
  {
    name: "store",
    about: "the queue and what it promises",
    run: ofStation((station, { env }) =>
      storeLines({
        path: station.files.store,
        root: station.root,
        runs_dir: station.runs_dir,
        runs_fault: runsFault({ id: "", ...station }),
        state_dir: station.state_dir,
        lock_path: lockPlace(env, station.machine).path,
      }),
    ),
  },
  { name: "runners", about: "the runners and what they serve", run: runners },
  {
    name: "evidence",
    about: "what was measured, and its age",
    run: ofStation(async (station, world) => {
      const { root, state_dir, settings } = station;
      const { measurements_wait: waits } = await statusOf(station, world);
      return evidenceLines({
        ...realEvidence(root, state_dir),
        waits,
        max_age_days: settings.evidence.max_age_days,
        renew_before_days: settings.evidence.renew_before_days,
        concurrent_runs: settings.local_models.concurrent_runs,
        now_ms: world.clock.now_ms(),
      });
    }),
  },
  {
    name: "git",
    about: "git, and what waits to be committed",
    run: ofStation(async ({ root, state_dir, settings }, { env, clock }) => {
      const mode = settings.evidence.commit;
      const report = await inspectGit({ root, mode, env, now_ms: clock.now_ms() });
      return gitLines({ mode, report, outbox: outboxState(state_dir) });
    }),
  },
  {
    name: "log",
    about: "the logs",
    run: ofStation((station) => logLines({ files: logsOf(station) })),
  },
];
