import { dirname, join } from "node:path";
import { commandLine } from "../../core/process-table.ts";
import {
  lockingProcesses,
  lockKeeper,
  stationId,
  statIfThere,
  userPaths,
} from "../../station/resident.ts";
import { stateFiles } from "../files.ts";
import type { ServiceHost } from "./host.ts";
import { daemonPid } from "./inspect.ts";
import type { Places } from "./places.ts";
import { readRecord, type ServiceRecord } from "./record.ts";

/**
 * The pid of the daemon of the station whose state is at `state_dir`: by what it says of itself, else
 * by the station's lock that it holds, as a full disk may keep it from saying anything. null: none.
 */
export function livingDaemon(state_dir: string): number | null {
  const said = daemonPid(state_dir);
  if (said !== null) return said;
  const keeper = lockKeeper(stateFiles(state_dir).lock);
  if (keeper === undefined) return null;
  const { pid, purpose } = keeper;
  const is_daemon = purpose === null ? commandLine(pid).includes("daemon") : purpose === "daemon";
  return is_daemon ? pid : null;
}

/** Stations that the launchers run which hold cron's lock now, as far as they can be seen. */
function launchedStations({ lib, launch }: Places): string[] {
  const lock = join(lib, "cron.lock");
  const file = statIfThere(lock);
  if (file === undefined) return [];
  return lockingProcesses(lock, file).flatMap(({ pid }) => {
    const words = commandLine(pid);
    const station = words[words.indexOf("--station") + 1];
    return words.includes(launch) && words.includes("--station") && station ? [station] : [];
  });
}

/**
 * States whose daemon may be one that cron started: of `record`, of what the record beside the program
 * names, and of whoever holds cron's lock, since a record may be of another station by now.
 */
export function cronStates(
  host: ServiceHost,
  places: Places,
  record: ServiceRecord | undefined,
): string[] {
  const written = readRecord(places);
  const own = record?.state_dir || written?.state_dir;
  const states = own ? dirname(own) : userPaths(host.env, host.platform).state_dir;
  const launched = launchedStations(places).map((station) => join(states, stationId(station)));
  const named = [record?.state_dir, written?.state_dir].filter((path) => path !== undefined);
  return [...new Set([...named, ...launched])].filter((path) => path !== "");
}
