import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configError, systemErrorCode } from "../core/errors.ts";
import { createFileAtomic, ensureDir, readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { packageFile } from "../core/program.ts";
import { appendToList } from "../core/yaml-edit.ts";
import { faultsError } from "./config-file.ts";
import { confine } from "./confine.ts";
import { ensureRepository, refuseTrackedInbox } from "./git-guard.ts";
import { realpathIfThere } from "./guarded.ts";
import { distrust, loadFiles, refuseNested } from "./open.ts";
import { machineConfigPath, POLICY_NAME, type Env } from "./paths.ts";
import {
  EXAMPLE_NAME,
  EXAMPLE_QUEUE_FILE,
  IGNORE_LINES,
  INBOX_README,
  machineTemplate,
  policyTemplate,
} from "./templates.ts";

export interface InitReport {
  root: string;
  machine_config: string;
  /** Paths that were made, or to which something was added. */
  changed: string[];
  /** Paths that were there already and are as they were. */
  kept: string[];
  trusted: boolean;
  /** Why it is still not trusted (owner, modes), and what to do. */
  trust_reason: string | null;
}

type Note = (path: string, changed: boolean) => void;

/** Makes a file where there is none; what is there is left alone, whatever it is. */
function makeFile(path: string, text: string, note: Note, mode = 0o644): void {
  try {
    createFileAtomic(path, text, mode);
    note(path, true);
  } catch (error) {
    if (systemErrorCode(error) !== "EEXIST") throw error;
    note(path, false);
  }
}

function ignoreInbox(root: string, note: Note): void {
  const path = join(root, ".gitignore");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !stats.isFile()) {
    throw configError(`${path}: it is not a regular file`, "git itself wants one there.");
  }
  const text = readTextIfThere(path) ?? "";
  const there = new Set(text.split("\n").map((line) => line.trim()));
  const missing = IGNORE_LINES.filter((line) => !there.has(line));
  if (missing.length > 0) {
    // Last lines win in .gitignore, and their order matters: all three are added together.
    const gap = text === "" || text.endsWith("\n") ? "" : "\n";
    const mode = stats === undefined ? 0o644 : stats.mode & 0o777;
    writeFileAtomic(path, `${text}${gap}${IGNORE_LINES.join("\n")}\n`, mode);
  }
  note(path, missing.length > 0);
}

/** The files of the station itself. Nothing is written through a link that leads out of it. */
function layOut(root: string, note: Note): void {
  const inbox = confine(root, "inbox", "init");
  const examples = confine(root, "inbox/examples", "init");
  makeFile(join(root, POLICY_NAME), policyTemplate(), note);
  ensureDir(inbox);
  makeFile(join(inbox, "README.md"), INBOX_README, note);
  ensureDir(examples);
  makeFile(join(examples, EXAMPLE_NAME), EXAMPLE_QUEUE_FILE, note);
  ignoreInbox(root, note);
}

const STARTER_PACKS = ["office-basics.yaml", "plumbing.yaml"] as const;

/** The packs that the first steps name, where the station has none of its own. */
function copyPacks(root: string, note: Note): void {
  const packs = confine(root, "packs", "init");
  if (existsSync(packs)) return;
  ensureDir(packs);
  for (const name of STARTER_PACKS) {
    makeFile(join(packs, name), readFileSync(packageFile(`packs/${name}`), "utf8"), note);
  }
}

function trust(root: string, env: Env, note: Note): void {
  const path = machineConfigPath(env);
  ensureDir(dirname(path), 0o700);
  const fresh = realpathIfThere(path) === undefined;
  if (fresh) makeFile(path, machineTemplate(), note, 0o600);
  const real = realpathSync(path); // a link to it stays a link
  const text = readTextIfThere(real) ?? "";
  const edited = appendToList(text, path, "trusted_stations", root);
  if (edited !== text) writeFileAtomic(real, edited, statSync(real).mode & 0o777);
  if (!fresh) note(path, edited !== text);
}

/**
 * Makes `dir` (default: where we are) a station and adds it to the trusted ones of machine.yaml.
 * What is there stays as it is, so it may be run again at any time. Throws configuration errors (78)
 * for a repository that may not be trusted; it is then not added.
 */
export async function initStation(
  dir: string | undefined,
  options: { env: Env; cwd: string },
): Promise<InitReport> {
  const { env, cwd } = options;
  const changed: string[] = [];
  const kept: string[] = [];
  const note: Note = (path, isChanged) => void (isChanged ? changed : kept).push(path);
  const directory = resolve(cwd, dir ?? ".");
  try {
    ensureDir(directory);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== "EEXIST" && code !== "ENOTDIR") throw error;
    throw configError(`${directory}: it is not a directory`, "Name one, or a name that is free.");
  }
  const root = realpathSync(directory);
  refuseNested(root, env, machineConfigPath(env));
  // Before anything is written: a repository that may not be trusted is left as it is.
  await refuseTrackedInbox(root, env);
  const before = loadFiles(root, env);
  const faults = [...before.machine.faults, ...before.policy.faults];
  if (faults.length > 0) throw faultsError(faults);
  if (await ensureRepository(root, env)) note(join(root, ".git"), true);
  layOut(root, note);
  copyPacks(root, note);
  trust(root, env, note);
  const { machine } = loadFiles(root, env);
  if (machine.faults.length > 0) throw faultsError(machine.faults);
  const trust_reason = distrust(root, env, machine);
  return {
    root,
    machine_config: machine.path,
    changed,
    kept,
    trusted: trust_reason === null,
    trust_reason,
  };
}
