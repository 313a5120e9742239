import { isAbsolute } from "node:path";
import { jobSettingsSchema, mergeJobSettings } from "../core/job-settings.ts";
import { faultsError, isWritten, lineOf, shortPlace, type ConfigFile } from "./config-file.ts";
import { lockPlace } from "./lock-path.ts";
import { locateStation, stationRoot, type FindOptions } from "./locate.ts";
import { loadFiles, stationDirs } from "./open.ts";
import { machineConfigPath, MACHINE_CONFIG_VARIABLE, variable, type Env } from "./paths.ts";
import type { MachineSettings, Policy } from "./schemas.ts";
import { mergeSettings } from "./settings.ts";

/** Where a setting's value comes from. */
interface Origin {
  kind: "default" | "file" | "environment" | "option" | "found";
  /** `default`, `touchstoned.yaml:3`, `TOUCHSTONED_LOCK` ... */
  text: string;
  file: string | null;
  line: number | null;
}

export interface SettingRow {
  /** `defaults.settle.timeout_s` */
  key: string;
  /** null where there is none and none is needed. */
  value: unknown;
  origin: Origin;
}

interface Files {
  machine: ConfigFile<MachineSettings>;
  policy: ConfigFile<Policy>;
}

function origin(kind: Origin["kind"], text: string): Origin {
  return { kind, text, file: null, line: null };
}

const BUILT_IN = origin("default", "default");

function fromFile(file: ConfigFile<unknown>, path: readonly string[]): Origin | undefined {
  if (!isWritten(file, path)) return undefined;
  return {
    kind: "file",
    text: shortPlace(file, path),
    file: file.path,
    line: lineOf(file, path),
  };
}

/** Of a directory that the XDG variable `name` moves, where it is set. */
function ofDirectory(env: Env, name: string): Origin {
  const moved = process.platform === "linux" && isAbsolute(variable(env, name) ?? "");
  return moved ? origin("environment", `environment ${name}`) : BUILT_IN;
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every leaf of a tree of settings; lists are one leaf. */
function leaves(value: unknown, path: string[] = []): { path: string[]; value: unknown }[] {
  if (!isGroup(value)) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}

function valueAt(tree: unknown, path: readonly string[]): unknown {
  let at = tree;
  for (const key of path) at = isGroup(at) ? at[key] : undefined;
  return at;
}

function jobRows({ machine, policy }: Files): SettingRow[] {
  const { limits, defaults } = mergeSettings(policy.value, machine.value);
  const limitOrigin = (path: string[]): Origin =>
    fromFile(policy, ["limits", ...path]) ?? fromFile(machine, ["limits", ...path]) ?? BUILT_IN;
  const builtIn = jobSettingsSchema.parse({});
  const settings = { runner: null, reset_command: null, ...mergeJobSettings([defaults], limits) };
  return [
    ...leaves(settings).map(({ path, value }): SettingRow => {
      const written = fromFile(policy, ["defaults", ...path]);
      // A default that is above a limit takes the limit, and then comes from where that stands.
      const lowered = value !== (valueAt(builtIn, path) ?? null);
      const from = written ?? (lowered ? limitOrigin(path) : BUILT_IN);
      return { key: ["defaults", ...path].join("."), value, origin: from };
    }),
    ...leaves(limits).map(({ path, value }): SettingRow => ({
      key: ["limits", ...path].join("."),
      value,
      origin: limitOrigin(path),
    })),
  ];
}

function runnerRows(machine: ConfigFile<MachineSettings>): SettingRow[] {
  return machine.value.runners.flatMap((runner, index) =>
    leaves(runner).map(({ path, value }): SettingRow => {
      const whole = ["runners", String(index), ...path];
      return { key: whole.join("."), value, origin: fromFile(machine, whole) ?? BUILT_IN };
    }),
  );
}

function machineRows(files: Files, env: Env, root: string): SettingRow[] {
  const { machine, policy } = files;
  const settings = mergeSettings(policy.value, machine.value);
  const dirs = stationDirs(root, env, machine.value);
  const place = lockPlace(env, machine.value);
  const ofState = ofDirectory(env, "XDG_STATE_HOME");
  const lockOrigin = {
    environment: origin("environment", "environment TOUCHSTONED_LOCK"),
    "machine.yaml": fromFile(machine, ["lock_path"]) ?? BUILT_IN,
    system: origin("default", `default: ${place.why}`),
    user: origin("default", `default: ${place.why}`),
  };
  const list = (key: "trusted_stations" | "reset_commands" | "model_dirs"): SettingRow => ({
    key,
    value: machine.value[key],
    origin: fromFile(machine, [key]) ?? BUILT_IN,
  });
  const keepAwake = ["power", "keep_awake"];
  const minAge = ["inbox", "min_age_seconds"];
  return [
    { key: "lock_path", value: place.path, origin: lockOrigin[place.source] },
    { key: "state_dir", value: dirs.state_dir, origin: ofState },
    { key: "runs_dir", value: dirs.runs_dir, origin: fromFile(machine, ["runs_dir"]) ?? ofState },
    list("trusted_stations"),
    ...(machine.value.runners.length === 0
      ? [{ key: "runners", value: [], origin: fromFile(machine, ["runners"]) ?? BUILT_IN }]
      : runnerRows(machine)),
    list("reset_commands"),
    list("model_dirs"),
    {
      key: "model_memory_mb",
      value: machine.value.model_memory_mb ?? "all there is",
      origin: fromFile(machine, ["model_memory_mb"]) ?? BUILT_IN,
    },
    {
      key: "power.keep_awake",
      value: settings.power.keep_awake,
      origin: fromFile(machine, keepAwake) ?? fromFile(policy, keepAwake) ?? BUILT_IN,
    },
    {
      key: minAge.join("."),
      value: settings.inbox.min_age_seconds,
      origin: fromFile(policy, minAge) ?? BUILT_IN,
    },
  ];
}

/** What only the policy says: each leaf with its default, or where it stands. */
function policyRows({ policy }: Files): SettingRow[] {
  const { queue, schedule, local_models, slots, evidence, calibration } = policy.value;
  const settings = {
    queue: { window: "any time", ...queue },
    schedule,
    local_models: { runner: null, model: null, ...local_models },
    slots,
    evidence,
    calibration: { window: null, budget_minutes: null, ...calibration },
  };
  return leaves(settings).map(({ path, value }): SettingRow => ({
    key: path.join("."),
    value,
    origin: fromFile(policy, path) ?? BUILT_IN,
  }));
}

function placeRows(options: FindOptions, root: string, machine_path: string): SettingRow[] {
  const by = {
    option: origin("option", "--station"),
    environment: origin("environment", "environment TOUCHSTONED_STATION"),
    parent: origin("found", "nearest parent with touchstoned.yaml"),
    user: origin("default", "default: the user's data directory"),
  };
  const found = locateStation(options);
  return [
    { key: "station", value: root, origin: found === undefined ? BUILT_IN : by[found.by] },
    {
      key: "machine_config",
      value: machine_path,
      origin:
        variable(options.env, MACHINE_CONFIG_VARIABLE) === undefined
          ? ofDirectory(options.env, "XDG_CONFIG_HOME")
          : origin("environment", `environment ${MACHINE_CONFIG_VARIABLE}`),
    },
  ];
}

/** Every setting that holds in the station, with where its value comes from. Throws as `openStation`. */
export function settingRows(options: FindOptions): SettingRow[] {
  const root = stationRoot(options);
  const files = loadFiles(root, options.env);
  const faults = [...files.machine.faults, ...files.policy.faults];
  if (faults.length > 0) throw faultsError(faults);
  return [
    ...placeRows(options, root, machineConfigPath(options.env)),
    ...machineRows(files, options.env, root),
    ...policyRows(files),
    ...jobRows(files),
  ];
}
