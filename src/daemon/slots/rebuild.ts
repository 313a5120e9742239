import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TouchstonedError } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { flatIdentity, readBookEntries, recoverBook, type Identity } from "../../evidence/index.ts";
import {
  settled,
  snapshotPath,
  sourceMark,
  writeSnapshot,
  type AllowedSnapshot,
  type FlatIdentity,
  type SnapshotRunner,
  type Source,
} from "../../evidence/fast.ts";
import { readDevice, type DeviceReading } from "../../probes/index.ts";
import { fileDigest, knownDigest } from "../calibration/file-digest.ts";
import { servingSettings } from "../calibration/identity.ts";
import { planCalibration } from "../calibration/plan.ts";
import { modelIdOf } from "../../runners/index.ts";
import {
  calibrationSettings,
  inspectStation,
  type Env,
  type Inspection,
  type MachineSettings,
} from "../../station/index.ts";

export interface RebuildOptions {
  /** What `--station` says. */
  explicit?: string | undefined;
  env: Env;
  cwd: string;
  now_ms: number;
  boot_id: string;
  program: string;
  /** Weights whose digest is needed now; read whole. */
  file: string | null;
  /** Told where that takes long. */
  note: (text: string) => void;
}

/**
 * This device in the terms of evidence; the key of the device is added by who signs. What cannot be
 * read is null, and fits nothing that was read when it was measured.
 */
export function deviceIdentity(
  device: DeviceReading,
): Pick<Identity, "hardware" | "processor" | "memory_mb" | "accelerators" | "os_release"> {
  const bytes = device.memory_bytes.value;
  const accelerators = device.accelerators.value?.map(({ name, driver, memory_mb }) => ({
    name,
    driver,
    memory_mb,
  }));
  return {
    hardware: device.hardware.value,
    processor: device.processor.value,
    memory_mb: bytes === null ? null : Math.round(bytes / 1e6),
    accelerators: accelerators ?? null,
    os_release: device.os_release.value,
  };
}

async function deviceFacts(state_dir: string): Promise<FlatIdentity> {
  const cache_path = join(state_dir, "slots", "device.json");
  return flatIdentity(deviceIdentity(await readDevice({ cache_path })));
}

/** The model that a measurement of the runner is of, where it starts a server with its own file. */
export function calibrationModel(machine: MachineSettings, runner: string): string | null {
  const { startable, model_file } = calibrationSettings(machine, runner);
  return startable && model_file !== null ? modelIdOf(model_file) : null;
}

/** What measurements of this runner depend on as it is configured; nothing where it cannot be measured. */
function measuredWith(
  { machine }: Inspection,
  runner: string,
): Pick<SnapshotRunner, "expected" | "measured_as" | "own_start"> {
  try {
    const measured_as = calibrationModel(machine, runner);
    const plan = planCalibration(machine, { runner, model: measured_as ?? "any" });
    // How prompts are kept cold is a matter of the measurement, not of what serves now.
    const { cache: _, ...serving } = servingSettings(plan, "");
    const { residency, context_per_slot, calibration } = plan;
    const identity = flatIdentity({ ...serving, context_per_slot });
    const own_start = residency === "own_start" ? { identity, file: calibration.model_file } : null;
    return { expected: flatIdentity(serving), measured_as, own_start };
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    return { expected: {}, measured_as: null, own_start: null };
  }
}

function runnersOf(station: Inspection): SnapshotRunner[] {
  return station.machine.runners.map((runner) => ({
    name: runner.name,
    kind: runner.kind,
    url: runner.url === undefined ? null : new URL(runner.url).origin,
    declared_slots: runner.declared_slots ?? null,
    ...measuredWith(station, runner.name),
  }));
}

/** Digests that are still right, those of `own` files that were read before, and that of `file`. */
async function digests(
  state_dir: string,
  own: readonly string[],
  file: string | null,
  note: (text: string) => void,
): Promise<AllowedSnapshot["files"]> {
  const known: AllowedSnapshot["files"] = {};
  try {
    const text = readFileSync(snapshotPath(state_dir), "utf8");
    const last = JSON.parse(text) as Partial<AllowedSnapshot>;
    for (const [path, entry] of Object.entries(last.files ?? {})) {
      if (sourceMark(path, "file") === entry.mark) known[path] = entry;
    }
  } catch {
    // No snapshot yet, or a broken one.
  }
  for (const path of own) {
    const digest = knownDigest(state_dir, path);
    if (digest !== null) known[path] ??= { mark: sourceMark(path, "file"), digest };
  }
  if (file === null || known[file] !== undefined) return known;
  const mark = sourceMark(file, "file");
  try {
    const digest = await fileDigest(state_dir, file, { note });
    // Written to meanwhile: then it is the digest of nothing.
    if (sourceMark(file, "file") === mark) known[file] = { mark, digest };
  } catch {
    // Not there, no file, or not ours to read: the digest is not known then.
  }
  return known;
}

/** What of the system may change within a boot and change what the device is. */
const SYSTEM_SOURCES: readonly Pick<Source, "path" | "how">[] = [
  { path: "/etc/os-release", how: "file" },
  { path: "/proc/driver/nvidia/version", how: "text" },
  { path: "/sys/module/amdgpu/version", how: "text" },
];

/**
 * Reads and checks everything that an answer depends on, and keeps it as the snapshot of the station.
 * Where a source was changed just before or meanwhile, nothing is kept, and the next look is a slow
 * one, too: nobody could tell which state of it the snapshot holds.
 */
export async function rebuildSnapshot(options: RebuildOptions): Promise<AllowedSnapshot> {
  const { env, cwd, explicit, file, now_ms } = options;
  const station = inspectStation({ env, cwd, explicit });
  const { settings, state_dir } = station;
  ensureDir(join(state_dir, "slots"), 0o700);
  recoverBook(station.root, state_dir);
  const book = readBookEntries(state_dir, settings.slots);
  const sources = [...station.sources, ...SYSTEM_SOURCES, ...book.sources].map(
    ({ path, how }): Source => ({ path, how, mark: sourceMark(path, how) }),
  );
  const { local_models, evidence } = settings;
  const asks =
    station.fault === null && station.trust_reason === null && local_models.concurrent_runs !== 1;
  const runners = runnersOf(station);
  const own = runners.flatMap(({ own_start }) => own_start?.file ?? []);
  const snapshot: AllowedSnapshot = {
    schema: "touchstoned/allowed-snapshot/2",
    program: options.program,
    boot_id: options.boot_id,
    machine_path: station.machine_path,
    sources,
    fault: station.fault,
    distrust: station.trust_reason,
    declared: local_models.concurrent_runs,
    max_age_days: evidence.max_age_days,
    commits: evidence.commit !== "off",
    runners,
    runner: local_models.runner ?? settings.defaults.runner ?? null,
    model: local_models.model ?? null,
    device: asks ? { ...(await deviceFacts(state_dir)), device_key: book.device_key } : {},
    evidence: asks ? book.entries : [],
    files: await digests(state_dir, own, file, options.note),
  };
  if (settled(sources, now_ms)) writeSnapshot(snapshotPath(state_dir), snapshot);
  return snapshot;
}
