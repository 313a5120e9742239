import { join } from "node:path";
import {
  overLimit,
  resetCommandAllowed,
  RUNNER_RESET_COMMANDS,
  type JobLimits,
  type PartialJobLimits,
  type PartialJobSettings,
} from "../core/job-settings.ts";
import { nearestKey } from "../core/yaml.ts";
import {
  faultFrom,
  faultsError,
  isWritten,
  lineOf,
  loadConfigFile,
  type ConfigFault,
  type ConfigFile,
} from "./config-file.ts";
import { configError } from "../core/errors.ts";
import { askingUser, chainFault, readGuarded, realpathIfThere } from "./guarded.ts";
import { machineConfigPath, POLICY_NAME, userPaths, type Env } from "./paths.ts";
import {
  machineSchema,
  policySchema,
  powerSchema,
  type MachineSettings,
  type Policy,
} from "./schemas.ts";

const MAX_CONFIG_BYTES = 256 * 1024;

/** What holds in one station: its policy, within what machine.yaml allows. */
export interface StationSettings {
  /** The layer below a queue file's own `defaults`; only what touchstoned.yaml says. */
  defaults: PartialJobSettings;
  /** machine.yaml's bounds, tightened by the policy. */
  limits: JobLimits;
  power: { keep_awake: "while_running" | "never" };
  inbox: { min_age_seconds: number };
  queue: Policy["queue"];
  schedule: Policy["schedule"];
  local_models: Policy["local_models"];
  slots: Policy["slots"] & MachineSettings["slots"];
  evidence: Policy["evidence"];
  calibration: Policy["calibration"];
  /** Names of the runners of machine.yaml, in its order. */
  runner_names: string[];
  /** Reset commands that may be named here, the runners' own first. */
  allowed_reset_commands: string[];
}

/**
 * Reads machine.yaml. It may be a link (people keep such files elsewhere), but the file and the
 * directories that hold it must be ours alone: nothing in it is believed otherwise.
 */
export function loadMachine(env: Env): ConfigFile<MachineSettings> {
  const path = machineConfigPath(env);
  return loadConfigFile(path, machineSchema, () => {
    const real = realpathIfThere(path);
    if (real === undefined) return undefined;
    const text = readGuarded(real, MAX_CONFIG_BYTES);
    const fault = chainFault(real, askingUser(userPaths(env).home));
    if (fault !== null) throw configError(`${path}: ${fault}`, undefined, "bad_mode");
    return text;
  });
}

/** Keys that a person looks for in touchstoned.yaml and that only machine.yaml may have. */
const MACHINE_ONLY = new Set([
  ...Object.keys(machineSchema.shape).filter((key) => !(key in policySchema.shape)),
  "url",
  "base_url",
  "api_key",
  "api_key_file",
  "binary",
  "args",
  "start",
  "model_file",
  "step_commands",
  "calibration",
  "calibrate_production",
  "stop_command",
  "start_command",
]);

function pointToMachine(fault: ConfigFault, machine_path: string): ConfigFault {
  const key = /^unknown key "(.+)"$/.exec(fault.message)?.[1];
  if (key === undefined || !MACHINE_ONLY.has(key)) return fault;
  return {
    ...fault,
    message: `"${key}" is not for a repository to say`,
    hint: `What runs or reaches out stands in ${machine_path} alone.`,
  };
}

interface LimitPair {
  path: [string, ...string[]];
  ours: number;
  theirs: number;
  looser: boolean;
}

function limitPairs(policy: PartialJobLimits, machine: JobLimits): LimitPair[] {
  const pairs: LimitPair[] = [];
  for (const group of ["step_timeout_s", "idle_timeout_s"] as const) {
    const bounds: Record<string, number> = machine[group];
    for (const [step, ours] of Object.entries(policy[group] ?? {})) {
      const theirs = bounds[step];
      if (ours === undefined || theirs === undefined) continue;
      pairs.push({ path: [group, step], ours, theirs, looser: ours > theirs });
    }
  }
  const [ours, theirs] = [policy.min_free_disk_mb, machine.min_free_disk_mb];
  if (ours !== undefined) {
    pairs.push({ path: ["min_free_disk_mb"], ours, theirs, looser: ours < theirs });
  }
  return pairs;
}

/** The bounds of a station: each the tighter of the two, also where the policy asks for a looser. */
function tightened(policy: PartialJobLimits, machine: JobLimits): JobLimits {
  const limits = structuredClone(machine);
  for (const { path, ours, looser } of limitPairs(policy, machine)) {
    if (looser) continue;
    const [group, step] = path;
    if (group === "min_free_disk_mb") limits.min_free_disk_mb = ours;
    else if (step !== undefined) {
      (limits[group as "step_timeout_s"] as Record<string, number>)[step] = ours;
    }
  }
  return limits;
}

type Policies = { policy: ConfigFile<Policy>; machine: ConfigFile<MachineSettings> };

function faultAt(policy: ConfigFile<Policy>, path: string[], message: string, hint: string | null) {
  const position = policy.parsed?.position(path) ?? null;
  return faultFrom(policy.path, { path: path.join("."), position, message, hint });
}

function limitFaults({ policy, machine }: Policies): ConfigFault[] {
  const loose = limitPairs(policy.value.limits, machine.value.limits).filter((p) => p.looser);
  return loose.map(({ path, ours, theirs }) => {
    const there = ["limits", ...path];
    const line = lineOf(machine, there);
    const whose = isWritten(machine, there)
      ? `${machine.path}:${line ?? 1}`
      : `the default, which ${machine.path} does not change`;
    return faultAt(
      policy,
      there,
      `${ours} is looser than ${theirs} (${whose}); a repository may only tighten`,
      `Write ${theirs} or a stricter value, or change machine.yaml.`,
    );
  });
}

/** A repository names runners, and machine.yaml says what they are. */
function runnerFaults({ policy, machine }: Policies): ConfigFault[] {
  const names = machine.value.runners.map(({ name }) => name);
  return (["defaults", "local_models"] as const).flatMap((group) => {
    const { runner } = policy.value[group];
    if (runner === undefined || names.includes(runner)) return [];
    const nearest = nearestKey(runner, names);
    const known = names.length === 0 ? "it declares none" : `it declares ${names.join(", ")}`;
    return faultAt(
      policy,
      [group, "runner"],
      `"${runner}" is no runner of ${machine.path}`,
      nearest === undefined ? `Name one of its runners; ${known}.` : `Did you mean "${nearest}"?`,
    );
  });
}

function defaultsFaults({ policy, machine }: Policies): ConfigFault[] {
  const { defaults, limits } = policy.value;
  const faults: ConfigFault[] = [];
  for (const { path, value, limit } of overLimit(
    defaults,
    tightened(limits, machine.value.limits),
  )) {
    const message = `${value} is above the limit of ${limit}`;
    faults.push(faultAt(policy, ["defaults", ...path], message, "Lower it, or raise the limit."));
  }
  faults.push(...runnerFaults({ policy, machine }));
  const reset = defaults.reset_command;
  if (reset !== undefined && !resetCommandAllowed(reset, allowedResetCommands(machine.value))) {
    faults.push(
      faultAt(
        policy,
        ["defaults", "reset_command"],
        `"${reset}" is not among the reset commands that ${machine.path} allows`,
        "A repository picks among them; the owner of the machine adds to reset_commands.",
      ),
    );
  }
  return faults;
}

/** The runners' own commands, then those of machine.yaml. */
function allowedResetCommands(machine: MachineSettings): string[] {
  return [...RUNNER_RESET_COMMANDS, ...machine.reset_commands];
}

/** Reads `ROOT/touchstoned.yaml` and checks it against what the machine allows. */
export function loadPolicy(root: string, machine: ConfigFile<MachineSettings>): ConfigFile<Policy> {
  const path = join(root, POLICY_NAME);
  const policy = loadConfigFile(path, policySchema, () => readGuarded(path, MAX_CONFIG_BYTES));
  policy.faults = policy.faults.map((fault) => pointToMachine(fault, machine.path));
  // What machine.yaml allows is not known where it is wrong itself.
  if (policy.faults.length === 0 && machine.faults.length === 0) {
    policy.faults = [...limitFaults({ policy, machine }), ...defaultsFaults({ policy, machine })];
  }
  return policy;
}

export function mergeSettings(policy: Policy, machine: MachineSettings): StationSettings {
  return {
    defaults: policy.defaults,
    limits: tightened(policy.limits, machine.limits),
    power: powerSchema.parse({
      keep_awake: machine.power.keep_awake ?? policy.power.keep_awake,
    }),
    inbox: policy.inbox,
    queue: policy.queue,
    schedule: policy.schedule,
    local_models: policy.local_models,
    slots: { ...policy.slots, ...machine.slots },
    evidence: policy.evidence,
    calibration: policy.calibration,
    runner_names: machine.runners.map(({ name }) => name),
    allowed_reset_commands: allowedResetCommands(machine),
  };
}

/** machine.yaml alone, for commands that need no station. Throws (78) for everything wrong in it. */
export function loadMachineSettings(env: Env): MachineSettings {
  const machine = loadMachine(env);
  if (machine.faults.length > 0) throw faultsError(machine.faults);
  return machine.value;
}
