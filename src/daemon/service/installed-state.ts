import { homeOf } from "../../core/user-dirs.ts";
import type { Env } from "../../station/resident.ts";
import { managersOf, placesOf, type PlacesHost } from "./places.ts";
import { readRecord } from "./record.ts";

/**
 * The station that the installed service runs, by its record alone: nobody is asked, and no library is
 * loaded. Undefined where none is installed.
 */
export function installedState(
  env: Env,
  given: Partial<PlacesHost> = {},
): { root: string; state_dir: string } | undefined {
  const host = { platform: process.platform, env, home: homeOf(env), root: "/", ...given };
  for (const kind of managersOf(host.platform)) {
    const record = readRecord(placesOf(kind, host));
    if (record === undefined || record.manager !== kind || record.state_dir === "") continue;
    return { root: record.station, state_dir: record.state_dir };
  }
  return undefined;
}
