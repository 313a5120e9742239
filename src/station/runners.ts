import { statSync } from "node:fs";
import { homedir } from "node:os";
import { configError, inputError } from "../core/errors.ts";
import { nearestKey } from "../core/yaml.ts";
import { askingUser, chainFault, readGuarded, realpathIfThere } from "./guarded.ts";
import type { MachineSettings, RunnerDeclaration } from "./schemas.ts";

const MAX_KEY_BYTES = 8192;

/** A runner of machine.yaml with its key read: what the runners' room takes as its settings. */
export interface ResolvedRunner {
  name: string;
  kind: RunnerDeclaration["kind"];
  url: string | null;
  api_key: string | null;
  start: {
    binary: string | null;
    model_file: string;
    args: string[];
    context_length: number;
    slots: number;
  } | null;
  declared_slots: number | null;
}

/** Reads a file that holds one key and nothing else. Errors never quote what is in it. */
function readKey(path: string, runner: string, home: string): string {
  const refuse = (why: string, hint?: string) =>
    configError(`api_key_file of runner "${runner}": ${why}`, hint, "bad_api_key_file");
  const real = realpathIfThere(path);
  const text = real === undefined ? undefined : readGuarded(real, MAX_KEY_BYTES);
  if (real === undefined || text === undefined) throw refuse(`there is no ${path}`);
  const fault = chainFault(real, askingUser(home));
  if (fault !== null) throw refuse(fault);
  if ((statSync(real).mode & 0o004) !== 0) {
    throw refuse(`${path} can be read by everyone; run: chmod o-rwx ${path}`);
  }
  const key = text.trim();
  // It becomes a header line: a line break in it would be one more header.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw refuse(
      `${path} does not hold one key in one line`,
      "Put the key there and nothing else.",
    );
  }
  return key;
}

function pick(machine: MachineSettings, name: string | undefined): RunnerDeclaration {
  const names = machine.runners.map((runner) => runner.name);
  const known =
    names.length === 0
      ? "machine.yaml declares no runner; add one under `runners`."
      : `machine.yaml declares: ${names.join(", ")}.`;
  if (name === undefined) {
    const [only, ...others] = machine.runners;
    if (only !== undefined && others.length === 0) return only;
    throw inputError(
      only === undefined ? "there is no runner" : "which runner? there is more than one",
      known,
      "runner_unknown",
    );
  }
  const found = machine.runners.find((runner) => runner.name === name);
  if (found !== undefined) return found;
  const nearest = nearestKey(name, names);
  throw inputError(
    `there is no runner "${name}"`,
    nearest === undefined ? known : `Did you mean "${nearest}"? ${known}`,
    "runner_unknown",
  );
}

/**
 * The runner called `name`, or the only one where no name is given. Throws an input error (64) that
 * lists the known names, or a configuration error (78) where its key file cannot be used.
 */
export function resolveRunner(
  machine: MachineSettings,
  name: string | undefined,
  home: string = homedir(),
): ResolvedRunner {
  const runner = pick(machine, name);
  const { start } = runner;
  return {
    name: runner.name,
    kind: runner.kind,
    url: runner.url === undefined ? null : new URL(runner.url).origin,
    api_key:
      runner.api_key_file === undefined ? null : readKey(runner.api_key_file, runner.name, home),
    start:
      start === undefined
        ? null
        : { ...start, binary: runner.kind === "embedded" ? null : start.binary },
    declared_slots: runner.declared_slots ?? null,
  };
}
