import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { configError } from "../../core/errors.ts";
import { findStation } from "../../station/index.ts";
import { userPaths, variable } from "../../station/resident.ts";
import type { Account } from "./account.ts";
import type { ServiceHost } from "./host.ts";
import { oldestNode } from "./node-choice.ts";
import type { Places } from "./places.ts";
import { copyName, copyProgram, flip, isCopied, type ProgramSource } from "./program-copy.ts";
import type { ServiceRecord } from "./record.ts";
import { renderLauncher, type Setup } from "./render.ts";
import { writeStep, writing, type Step } from "./steps.ts";

/** Variables that say where things lie: the service has to find what the command line finds. */
const KEPT_VARIABLES = [
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
  "XDG_DATA_HOME",
  "XDG_CACHE_HOME",
  "TOUCHSTONED_MACHINE_CONFIG",
  "TOUCHSTONED_LOCK",
] as const;

/** What of our environment the service keeps. Another user's is not known, and ours is not theirs. */
export function keptVariables(host: ServiceHost, account: Account): Record<string, string> {
  if (account.uid !== host.uid) return {};
  const found: Record<string, string> = {};
  for (const name of KEPT_VARIABLES) {
    const value = variable(host.env, name);
    if (value !== undefined) found[name] = requirePlainPath(value);
  }
  return found;
}

/** In a unit, a plist, a crontab and a shell script alike, only such paths can be written. */
function requirePlainPath(path: string): string {
  // oxlint-disable-next-line no-control-regex
  if (!/[\u0000-\u001f\u007f]/.test(path)) return path;
  throw configError(
    `the path ${JSON.stringify(path)} has a control character in it`,
    "Give it a name without line breaks and the like.",
    "odd_path",
  );
}

export interface StationPlace {
  /** Absolute; links are resolved where it is there. */
  path: string;
  /** False: it has to be made. */
  known: boolean;
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** `--station`, else the one that is found from here, else the account's own, which may have to be made. */
export function stationPlace(
  host: ServiceHost,
  account: Account,
  asked: { station: string | undefined; cwd: string },
): StationPlace {
  const { station, cwd } = asked;
  const own = account.uid === host.uid;
  const env = own ? host.env : { HOME: account.home };
  // Where root installs for somebody, the directory that root is in says nothing.
  const from = own || station !== undefined ? cwd : account.home;
  const found = findStation({ explicit: station, env, cwd: from });
  const path = found ?? join(userPaths(env, host.platform).data_dir, "station");
  return { path: requirePlainPath(realOrSame(resolve(cwd, path))), known: found !== undefined };
}

/** Where the words of the launcher go under launchd and cron. The account can write there. */
export function crashLog(
  host: ServiceHost,
  account: Account,
  kept: Record<string, string>,
): string {
  const env = { HOME: account.home, ...kept };
  return join(userPaths(env, host.platform).state_dir, "service.log");
}

export function setupOf(host: ServiceHost, places: Places, record: ServiceRecord): Setup {
  return {
    places,
    record,
    platform: host.platform,
    notify: host.has("systemd-notify"),
    oldest_node: oldestNode(),
  };
}

function linkedName({ current, versions }: Places): string | undefined {
  try {
    const [real, top] = [realpathSync(current), realpathSync(versions)];
    return real.startsWith(`${top}/`) ? real.slice(top.length + 1) : undefined;
  } catch {
    return undefined;
  }
}

/** Puts the program and its launcher in their places, beside what is there. */
export function programSteps(
  places: Places,
  source: ProgramSource,
  setup: Setup,
): [copy: Step, flip: Step, launcher: Step] {
  const name = copyName(source, places);
  return [
    {
      what: "copy",
      target: `${join(places.versions, name)} (${source.files.size} files)`,
      needed: () => !isCopied(source, places),
      run: () => writing(places.versions, () => void copyProgram(source, places)),
    },
    {
      what: "link",
      target: `${places.current} -> ${join("versions", name)}`,
      needed: () => linkedName(places) !== name,
      run: () => writing(places.current, () => flip(places, name)),
    },
    writeStep(places.launch, renderLauncher(setup), 0o755),
  ];
}
