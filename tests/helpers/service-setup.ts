import type { Setup } from "../../src/daemon/service/render.ts";
import type { ManagerKind } from "../../src/daemon/service/types.ts";

/** One installation as the templates see it, in plain paths; `odd` ones have what must be escaped. */
export function sampleSetup(manager: ManagerKind, given: { odd?: boolean } = {}): Setup {
  const odd = given.odd === true;
  const mac = manager.startsWith("launchd");
  const home = mac ? "/Users/alice" : "/home/alice";
  const name = odd ? `a b/"q" 'z' 50% $HOME & <x> \\n` : "bench";
  const lib = odd ? `${home}/${name}/lib` : `${home}/.local/lib/touchstoned`;
  return {
    places: {
      lib,
      versions: `${lib}/versions`,
      current: `${lib}/current`,
      launch: `${lib}/launch`,
      record: `${lib}/service.json`,
      stopped: `${lib}/stopped`,
      definition: manager === "cron" ? null : `${home}/definition`,
    },
    record: {
      schema_version: 1,
      manager,
      station: `${home}/${name}`,
      state_dir: `${home}/state`,
      runs_dir: `${home}/state/runs`,
      account: { user: "alice", uid: 1000, gid: 1000, home },
      crash_log: `${home}/state/service.log`,
      node: "/usr/bin/node",
      env: odd ? { XDG_STATE_HOME: `${home}/${name}` } : {},
      version: "1.2.3",
      previous: null,
      installed: "2026-01-15T20:00:00.000Z",
    },
    platform: mac ? "darwin" : "linux",
    notify: true,
    oldest_node: { major: 22, minor: 22 },
  };
}
