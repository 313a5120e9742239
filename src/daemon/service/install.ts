import { isoTime } from "../../core/clock.ts";
import { chooseAccount, type Account } from "./account.ts";
import { initAs, openAs, runInstalled, type OpenedAs } from "./as-service.ts";
import { chooseKind, refuseSecond, requireRoot, type Wanted } from "./choice.ts";
import type { ServiceHost } from "./host.ts";
import { daemonPid, inspectHost } from "./inspect.ts";
import { managerOf } from "./managers.ts";
import { chooseNode } from "./node-choice.ts";
import { placesOf, type Places } from "./places.ts";
import {
  crashLog,
  keptVariables,
  programSteps,
  setupOf,
  stationPlace,
  type StationPlace,
} from "./plan.ts";
import { privacyProblems } from "./privacy.ts";
import { copyName, pruneVersions, type ProgramSource } from "./program-copy.ts";
import { readRecord, writeRecord, type ServiceRecord } from "./record.ts";
import { renderDefinition } from "./render.ts";
import { perform, writeStep, writing, type Step, type StepDone, type Watcher } from "./steps.ts";
import { lingerProblems, readLinger, systemdVersion } from "./systemd-facts.ts";
import type { ManagerKind, Problem, ServiceReport } from "./types.ts";

export interface InstallOptions {
  wanted: Wanted | undefined;
  /** What `--station` says. */
  station: string | undefined;
  run_as: string | undefined;
  cwd: string;
  watcher: Watcher;
}

export interface InstallOutcome {
  manager: ManagerKind;
  station: string;
  user: string;
  lib: string;
  dry_run: boolean;
  steps: StepDone[];
  changed: boolean;
  /** What is worth a word and no trouble. */
  notes: string[];
  problems: Problem[];
  /** How it fares now; null after a dry run. */
  service: ServiceReport | null;
}

interface Installing {
  host: ServiceHost;
  kind: ManagerKind;
  account: Account;
  places: Places;
  source: ProgramSource;
  station: StationPlace;
  watcher: Watcher;
  notes: string[];
}

function draftRecord(installing: Installing): ServiceRecord {
  const { host, kind, account, places, source, station, notes } = installing;
  const env = keptVariables(host, account);
  const before = readRecord(places);
  const node = chooseNode(host);
  // Where there was no other one, an earlier installation has said so.
  const only = node.path === null && before?.node === host.exec_path;
  if (node.note !== null && !only) notes.push(node.note);
  const version = copyName(source, places);
  return {
    schema_version: 1,
    manager: kind,
    station: station.path,
    state_dir: before?.state_dir ?? "",
    runs_dir: before?.runs_dir ?? "",
    account,
    crash_log: crashLog(host, account, env),
    node: only ? host.exec_path : node.path,
    env,
    version,
    previous:
      before === undefined || before.version === version
        ? (before?.previous ?? null)
        : before.version,
    installed: isoTime(host.clock.now_ms()),
  };
}

/**
 * The launcher's choice of a Node. Where it finds none, and the Node that runs now belongs to another
 * program, that one is better than none.
 */
async function settleNode(installing: Installing, record: ServiceRecord): Promise<StepDone[]> {
  const { host, account, places, watcher, notes } = installing;
  if (record.node !== null || watcher.dry_run) return [];
  if ((await runInstalled(host, account, places, ["--which"])).ok) return [];
  record.node = host.exec_path;
  notes.push(`no other Node will do: the service stops working when ${host.exec_path} goes`);
  const [, , launcher] = programSteps(places, installing.source, setupOf(host, places, record));
  return perform([launcher], watcher);
}

async function settleStation(installing: Installing): Promise<OpenedAs | undefined> {
  const { host, account, places, station, watcher } = installing;
  const steps: Step[] = [
    {
      what: "run",
      target: `touchstoned init ${station.path}`,
      needed: () => !station.known,
      run: () => initAs(host, account, places, station.path),
    },
  ];
  await perform(steps, watcher);
  return watcher.dry_run ? undefined : openAs(host, account, places, station.path);
}

/** Lets the user's services run without a login, where this user may say so. */
async function allowLinger({ host, account, watcher }: Installing): Promise<StepDone[]> {
  return perform(
    [
      {
        what: "run",
        target: `loginctl enable-linger ${account.user}`,
        needed: async () => (await readLinger(host)) === false,
        // Where it may not, what to do about it is among the problems.
        run: async () => void (await host.run("loginctl", ["enable-linger", account.user])),
      },
    ],
    watcher,
  );
}

function sameRecord(a: ServiceRecord | undefined, b: ServiceRecord): boolean {
  return (
    a !== undefined &&
    JSON.stringify({ ...a, installed: "" }) === JSON.stringify({ ...b, installed: "" })
  );
}

/** Writes what was installed and brings it into force. */
async function activate(
  installing: Installing,
  record: ServiceRecord,
  changed_before: boolean,
): Promise<StepDone[]> {
  const { host, kind, places, watcher, notes } = installing;
  const text = renderDefinition(setupOf(host, places, record));
  const manager = managerOf(kind, host, record, text);
  if (!watcher.dry_run) await manager.require();
  const before = readRecord(places);
  // With the station's own path it is known whose daemon is another one's.
  const evicted = await perform(manager.evict?.() ?? [], watcher);
  const writes: Step[] = [
    {
      what: "write",
      target: places.record,
      needed: () => !sameRecord(before, record),
      run: () => writing(places.record, () => writeRecord(places, record)),
    },
    ...(places.definition === null ? [] : [writeStep(places.definition, text)]),
  ];
  let changed = changed_before;
  for (const step of writes.slice(1)) changed ||= await step.needed();
  // One that a person runs by hand holds the station; ours could only fail beside it.
  const by_hand = watcher.dry_run ? null : daemonPid(record.state_dir);
  const served = (await inspectHost(host, kind)).pid;
  const done = await perform(writes, watcher);
  const steps = manager.activate(() => changed);
  if (by_hand !== null && served === null && kind !== "cron") {
    steps.pop();
    notes.push(
      `a daemon runs already, started by hand (pid ${by_hand}): end it, then: touchstoned start`,
    );
  }
  return [...evicted.filter((one) => one.changed), ...done, ...(await perform(steps, watcher))];
}

async function problemsOf(
  installing: Installing,
  record: ServiceRecord,
  service: ServiceReport | null,
): Promise<Problem[]> {
  const { host, kind, account, places } = installing;
  const paths = {
    "the station": record.station,
    "the program": places.lib,
    ...(record.runs_dir === "" ? {} : { "the directory of runs": record.runs_dir }),
  };
  const problems = privacyProblems(host.platform, account.home, paths, record.node);
  if (service !== null) return [...service.problems, ...problems];
  if (kind !== "systemd-user") return problems;
  const version = await systemdVersion(host);
  // What a dry run would do about the linger, it does not do.
  return [...lingerProblems(host, null, version), ...problems];
}

/**
 * Copies this program, writes its launcher and the definition of its service, and starts it. What is as
 * it is to be stays; so it may be run again at any time. Throws for whatever stands in the way, each
 * with what to do; nothing is registered then.
 */
export async function installService(
  host: ServiceHost,
  options: InstallOptions,
): Promise<InstallOutcome> {
  const { watcher, cwd } = options;
  const kind = chooseKind(host, options.wanted);
  const account = await chooseAccount(kind, host, options);
  const station = stationPlace(host, account, { station: options.station, cwd });
  if (!watcher.dry_run) requireRoot(host, kind, "install --system");
  refuseSecond(host, kind, station.path);
  const places = placesOf(kind, host);
  // Before anything is copied.
  if (!watcher.dry_run) await managerOf(kind, host, undefined, "").require();
  const source = host.program();
  const notes: string[] = [];
  if (kind === "cron" && options.wanted === undefined) {
    notes.push(
      "systemd does not run this machine: cron starts the daemon, at boot and every 5 minutes",
    );
  }
  const installing = { host, kind, account, places, source, station, watcher, notes };
  const record = draftRecord(installing);
  const setup = setupOf(host, places, record);
  const done = await perform(programSteps(places, source, setup), watcher);
  done.push(...(await settleNode(installing, record)));
  const opened = await settleStation(installing);
  if (opened !== undefined) {
    record.station = opened.root;
    [record.state_dir, record.runs_dir] = [opened.state_dir, opened.runs_dir];
  }
  const changed_program = done.some(({ changed }) => changed);
  if (kind === "systemd-user") done.push(...(await allowLinger(installing)));
  done.push(...(await activate(installing, record, changed_program)));
  if (!watcher.dry_run) pruneVersions(places, [record.version, record.previous]);
  const service = watcher.dry_run ? null : await inspectHost(host, kind);
  return {
    manager: kind,
    station: record.station,
    user: account.user,
    lib: places.lib,
    dry_run: watcher.dry_run,
    steps: done,
    changed: done.some(({ changed }) => changed),
    notes,
    problems: await problemsOf(installing, record, service),
    service,
  };
}
