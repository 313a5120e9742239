// The demo's own world in a temporary folder: station, machine.yaml, models, state, lock.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeMadeModel } from "../../src/models/index.ts";

export interface DemoPlace {
  /** Everything lies below this. */
  folder: string;
  station: string;
  machine_file: string;
  /** Environment for `touchstoned`: its state, configuration and lock stay inside the folder. */
  env: Record<string, string>;
}

/** What one entry of the demo runs on. */
export interface DemoTarget {
  runner: string;
  model: string;
}

/** A runner of machine.yaml as a person would write it. */
export type RunnerLines = Record<string, unknown>;

export function makePlace(): DemoPlace {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "touchstoned-demo-")));
  const machine_file = join(folder, "config", "machine.yaml");
  for (const name of ["config", "state", "models"]) mkdirSync(join(folder, name), { mode: 0o700 });
  return {
    folder,
    station: join(folder, "station"),
    machine_file,
    env: {
      TOUCHSTONED_STATION: "",
      TOUCHSTONED_MACHINE_CONFIG: machine_file,
      TOUCHSTONED_LOCK: join(folder, "model.lock"),
      XDG_CONFIG_HOME: join(folder, "config"),
      XDG_STATE_HOME: join(folder, "state"),
    },
  };
}

/** Two made models, different in their random weights, each on a runner of its own that we start. */
export function madeTargets(
  place: DemoPlace,
  kind: "llama-server" | "embedded",
  binary: string | null,
): { targets: [DemoTarget, DemoTarget]; runners: RunnerLines[] } {
  const names = ["made-1", "made-2"] as const;
  const runners = names.map((name, i) => {
    const model_file = join(place.folder, "models", `${name}.gguf`);
    writeMadeModel(model_file, { seed: i + 1 });
    const start = {
      ...(binary === null ? {} : { binary }),
      model_file,
      // One thread: on a busy machine of two cores, two threads would wait for each other.
      args: kind === "embedded" ? ["--threads", "1"] : ["-t", "1"],
      context_length: 8192,
      slots: 1,
    };
    return { name: `runner-${i + 1}`, kind, start };
  });
  return {
    targets: [
      { runner: "runner-1", model: names[0] },
      { runner: "runner-2", model: names[1] },
    ],
    runners,
  };
}

/** JSON is YAML: what is written here is read like a person's machine.yaml. */
export function writeMachineFile(
  place: DemoPlace,
  runners: readonly RunnerLines[],
  model_dirs: readonly string[] = [],
): void {
  const machine = {
    schema_version: 1,
    runners,
    runs_dir: join(place.folder, "runs"),
    model_dirs: [join(place.folder, "models"), ...model_dirs],
    // The demo has to run on a full disk's last gigabyte as well.
    limits: { min_free_disk_mb: 50 },
    power: { keep_awake: "never" },
  };
  writeFileSync(place.machine_file, `${JSON.stringify(machine, null, 2)}\n`, { mode: 0o600 });
}

/** Puts queue file, pack and judge config into the station; the queue file's path. */
export function fillStation(
  place: DemoPlace,
  targets: readonly [DemoTarget, DemoTarget],
  judge: "judge.yaml" | "made-judge.yaml",
): string {
  const source = import.meta.dirname;
  mkdirSync(join(place.station, "packs"), { recursive: true });
  copyFileSync(join(source, "packs", "demo.yaml"), join(place.station, "packs", "demo.yaml"));
  const [first, second] = targets;
  const filled = (name: string): string =>
    readFileSync(join(source, name), "utf8")
      .replaceAll(/^# yaml-language-server.*\n/gm, "")
      .replaceAll("RUNNER_1", first.runner)
      .replaceAll("RUNNER_2", second.runner)
      .replaceAll("JUDGE_MODEL", JSON.stringify(second.model))
      .replaceAll("MODEL_1", JSON.stringify(first.model))
      .replaceAll("MODEL_2", JSON.stringify(second.model));
  writeFileSync(join(place.station, "judge.yaml"), filled(judge));
  writeFileSync(join(place.station, "tonight.yaml"), filled("tonight.yaml"));
  return join(place.station, "tonight.yaml");
}
