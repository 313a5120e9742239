import { statSync } from "node:fs";
import { isoTime } from "../../core/clock.ts";
import { freeDiskMb } from "../../core/disk.ts";
import { EXIT, errorMessage, TouchstonedError } from "../../core/errors.ts";
import { readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { isAlive } from "../../core/process-table.ts";
import { shellWord } from "../../core/shell-word.ts";
import { stateFiles } from "../files.ts";
import { readSnapshot } from "../snapshot.ts";
import { runInstalled } from "./as-service.ts";
import { installedKind, optionOf, requireRoot, type Wanted } from "./choice.ts";
import { firstLine, type ServiceHost } from "./host.ts";
import { inspectHost } from "./inspect.ts";
import { until, type ServiceManager } from "./manager.ts";
import { managerOf } from "./managers.ts";
import { placesOf, type Places } from "./places.ts";
import { programSteps, setupOf } from "./plan.ts";
import { copyName, flip, pruneVersions, type ProgramSource } from "./program-copy.ts";
import { readRecord, writeRecord, type ServiceRecord } from "./record.ts";
import { renderDefinition } from "./render.ts";
import { keptBy } from "./logs.ts";
import { perform, writeStep, type StepDone, type Watcher } from "./steps.ts";
import type { ManagerKind, ServiceReport } from "./types.ts";

export interface UpgradeOutcome {
  from: string;
  to: string;
  dry_run: boolean;
  /** False: exactly this program was installed already. */
  changed: boolean;
  /** Whether the new version was seen at work; false where the service was not running. */
  checked: boolean;
  steps: StepDone[];
  service: ServiceReport | null;
}

interface Upgrading {
  host: ServiceHost;
  kind: ManagerKind;
  places: Places;
  source: ProgramSource;
  old: ServiceRecord;
  record: ServiceRecord;
  manager: ServiceManager;
  watcher: Watcher;
}

/** First start of a version: it may have to bring the store to a newer form. */
const HEALTH_LIMIT_MS = 90_000;

function refused(code: string, message: string, hint?: string): TouchstonedError {
  return new TouchstonedError({
    code,
    exitCode: EXIT.failed,
    message,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Room for the copy, and twice that: a disk that is full afterwards helps nobody. */
function requireRoom({ source, places }: Upgrading): void {
  const sizes = [...source.files.values()].map((path) => statSync(path).size);
  const need_mb = (3 * sizes.reduce((sum, size) => sum + size, 0)) / 1e6;
  const free_mb = freeDiskMb(places.lib);
  if (free_mb === null || free_mb >= need_mb) return;
  throw refused(
    "no_room",
    `only ${Math.floor(free_mb)} MB are free at ${places.lib}; an upgrade wants ${Math.ceil(need_mb)}`,
  );
}

/** What is broken before an upgrade would be blamed on it. The version that is there looks. */
async function requireSound({ host, old, places }: Upgrading): Promise<void> {
  if (readTextIfThere(stateFiles(old.state_dir).snapshot) === undefined) return; // never ran
  const told = await runInstalled(host, old.account, places, ["fsck", "--station", old.station]);
  if (told.ok) return;
  throw refused(
    "not_sound",
    `nothing was changed: touchstoned fsck of ${old.version} says: ${firstLine(told)}`,
    `\`touchstoned fsck --station ${shellWord(old.station)}\` says all of it; \`touchstoned queue rebuild\` mends a store.`,
  );
}

/** Whether a daemon of this version has done a round of its loop since `since_ms`. */
function isAtWork(state_dir: string, version: string, since_ms: number): boolean {
  const said = readSnapshot(stateFiles(state_dir).snapshot);
  if (said === undefined || said.version !== version || said.next_look === null) return false;
  return Date.parse(said.updated) >= since_ms && isAlive(said.process);
}

async function restartAndLook(
  { host, manager, record }: Upgrading,
  version: string,
): Promise<string | null> {
  const since_ms = host.clock.now_ms();
  try {
    await manager.restart();
  } catch (error) {
    return errorMessage(error);
  }
  const well = await until(
    () => isAtWork(record.state_dir, version, since_ms),
    HEALTH_LIMIT_MS,
    host.clock,
  );
  return well ? null : `it did not finish a round of its loop within ${HEALTH_LIMIT_MS / 1000} s`;
}

/** Texts that a failed upgrade puts back. */
function textsOf({ places }: Upgrading): Map<string, string> {
  const texts = new Map<string, string>();
  for (const path of [places.launch, places.definition]) {
    const text = path === null ? undefined : readTextIfThere(path);
    if (path !== null && text !== undefined) texts.set(path, text);
  }
  return texts;
}

async function goBack(upgrading: Upgrading, texts: Map<string, string>, why: string) {
  const { places, old, manager, source } = upgrading;
  flip(places, old.version);
  for (const [path, text] of texts) {
    writeFileAtomic(path, text, path === places.launch ? 0o755 : 0o644);
  }
  writeRecord(places, old);
  const steps = manager.activate(() => true).slice(0, -1);
  await perform(steps, { dry_run: false, onStep: () => undefined });
  const [plain = ""] = old.version.split("+");
  const trouble = await restartAndLook(upgrading, plain);
  pruneVersions(places, [old.version, old.previous]);
  const now =
    trouble === null
      ? `${old.version} runs again`
      : `${old.version} is back in its place, but: ${trouble}`;
  return refused(
    "upgrade_failed",
    `${source.version} does not work here: ${why}; ${now}`,
    `\`touchstoned logs\` and ${keptBy(old)} say more. Nothing of the queue is lost by it.`,
  );
}

function prepare(host: ServiceHost, wanted: Wanted | undefined, watcher: Watcher): Upgrading {
  const kind = installedKind(host, wanted);
  if (!watcher.dry_run) requireRoot(host, kind, `upgrade ${optionOf(kind)}`);
  const places = placesOf(kind, host);
  const old = readRecord(places);
  if (old === undefined) {
    throw refused(
      "no_record",
      `${places.record} is missing or unreadable`,
      "Run `touchstoned install`: it keeps everything that is there.",
    );
  }
  const source = host.program();
  const version = copyName(source, places);
  const record = {
    ...old,
    version,
    previous: version === old.version ? old.previous : old.version,
    installed: isoTime(host.clock.now_ms()),
  };
  const manager = managerOf(kind, host, record, renderDefinition(setupOf(host, places, record)));
  return { host, kind, places, source, old, record, manager, watcher };
}

/**
 * Puts this program in the place of the installed one: checks first, copies beside it, flips, restarts
 * (a running step goes on), and looks whether the new daemon works; else everything goes back and the
 * reason is thrown. The two latest versions are kept.
 */
export async function upgradeService(
  host: ServiceHost,
  options: { wanted: Wanted | undefined; watcher: Watcher },
): Promise<UpgradeOutcome> {
  const upgrading = prepare(host, options.wanted, options.watcher);
  const { kind, places, source, old, record, manager, watcher } = upgrading;
  const setup = setupOf(host, places, record);
  const [copy, link, launcher] = programSteps(places, source, setup);
  const definition =
    places.definition === null ? [] : [writeStep(places.definition, renderDefinition(setup))];
  const rest = [link, launcher, ...definition];
  const needed = await Promise.all([copy, ...rest].map(async (step) => step.needed()));
  const { running } = await inspectHost(host, kind);
  const outcome = { from: old.version, to: record.version, dry_run: watcher.dry_run };
  if (!needed.includes(true)) {
    return {
      ...outcome,
      changed: false,
      checked: false,
      steps: [],
      service: await inspectHost(host, kind),
    };
  }
  if (!watcher.dry_run) {
    requireRoom(upgrading);
    await requireSound(upgrading);
  }
  const texts = textsOf(upgrading);
  const steps = await perform([copy, ...rest], watcher);
  const activation = manager.activate(() => true);
  if (watcher.dry_run) {
    steps.push(...(await perform(activation, watcher)));
    return { ...outcome, changed: true, checked: false, steps, service: null };
  }
  writeRecord(places, record);
  if (running) {
    steps.push(...(await perform(activation.slice(0, -1), watcher)));
    const trouble = await restartAndLook(upgrading, source.version);
    if (trouble !== null) throw await goBack(upgrading, texts, trouble);
  }
  pruneVersions(places, [record.version, record.previous]);
  const service = await inspectHost(host, kind);
  return { ...outcome, changed: true, checked: running, steps, service };
}
