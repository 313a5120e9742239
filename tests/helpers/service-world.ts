import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { processIdentity } from "../../src/core/process-table.ts";
import { serviceHost, type ServiceHost } from "../../src/daemon/service/host.ts";
import type { ProgramSource } from "../../src/daemon/service/program-copy.ts";
import { FakeClock } from "./fake-clock.ts";
import { fixture } from "./fixtures.ts";
import { tempDir } from "./temp-dir.ts";

const STAND_INS = fileURLToPath(new URL("../fixtures/service/bin", import.meta.url));

interface Fault {
  code: number;
  stderr?: string;
  stdout?: string;
  /** So often; then the tool works. */
  times?: number;
}

/** A machine with stand-ins for the tools of its service manager, in a folder. */
export interface ServiceWorld {
  dir: string;
  home: string;
  /** A station that the program of this world finds fit. */
  station: string;
  state_dir: string;
  host: ServiceHost;
  clock: FakeClock;
  env: Record<string, string>;
  /** Each call of a tool since the last time: its name and arguments. */
  calls(): string[];
  /** A file of the stand-ins' state; undefined takes it away. */
  set(name: string, text: string | undefined): void;
  has(name: string): boolean;
  /** The tool fails where its arguments match the pattern (of the shell). */
  fault(tool: string, pattern: string, fault: Fault): void;
  remove(tool: string): void;
  /** What is "installed" next: a program that answers what an installation asks. */
  program(version: string): void;
  /** A daemon's snapshot, of this process, as the next start of the service writes it. */
  daemonWrites(version: string): void;
}

/**
 * A "Node" that is the program as well: it answers `_open-station`, `init` and `fsck`. A station whose
 * file says "unfit" is not opened, one that says "distrust" is not trusted.
 */
const NODE = String.raw`#!/bin/sh
[ "$1" = --version ] && { echo v24.0.0; exit 0; }
word=$2
state=$HOME/state
quoted() { printf %s "$1" | sed 's/[\\"]/\\&/g'; }
case $word in
init)
  mkdir -p "$3"
  : >"$3/touchstoned.yaml"
  ;;
fsck)
  [ ! -s "$state/unsound" ] || { cat "$state/unsound"; exit 1; }
  ;;
_open-station)
  text=$(cat "$4/touchstoned.yaml" 2>/dev/null || echo "unfit: gone")
  case $text in unfit*)
    printf 'error: %s\nhint: mend it\n' "$text" >&2
    exit 78
    ;;
  esac
  mkdir -p "$state"
  trusted=true
  [ "$text" = distrust ] && trusted=false
  root=$(cd "$4" && pwd -P)
  printf '{"station":{"root":"%s","state_dir":"%s","runs_dir":"%s","trusted":%s,"trust_reason":"its mode"}}\n' \
    "$(quoted "$root")" "$(quoted "$state")" "$(quoted "$state/runs")" $trusted
  ;;
esac
`;

function programOf(dir: string, version: string): ProgramSource {
  const folder = join(dir, `program-${version}`);
  mkdirSync(folder, { recursive: true });
  const main = join(folder, "main.js");
  writeFileSync(main, `// ${version}\n`);
  const files = new Map([["dist/cli/main.js", main]]);
  return { version, files, digest: createHash("sha256").update(version).digest("hex") };
}

function standIns(dir: string): string {
  const bin = join(dir, "bin");
  for (const folder of ["bin", "state", "state/faults"]) mkdirSync(join(dir, folder));
  for (const name of readdirSync(STAND_INS)) copyFileSync(join(STAND_INS, name), join(bin, name));
  // What every test may use beside them, and nothing else: no real systemctl is ever met.
  return bin;
}

export function serviceWorld(
  platform: "linux" | "darwin",
  given: { uid?: number; env?: Record<string, string>; name?: string } = {},
): ServiceWorld {
  const dir = tempDir();
  const bin = standIns(dir);
  const home = join(dir, given.name ?? "home");
  const station = join(home, "bench");
  mkdirSync(station, { recursive: true });
  writeFileSync(join(station, "touchstoned.yaml"), "");
  const state = (name: string): string => join(dir, "state", name);
  const set = (name: string, text: string | undefined): void => {
    if (text === undefined) rmSync(state(name), { force: true });
    else writeFileSync(state(name), text);
  };
  const clock = new FakeClock({ jumpSleeps: true });
  const uid = given.uid ?? 1000;
  const root = join(dir, "root");
  for (const path of ["run/systemd/system", `run/user/${uid}`, "usr/local/lib", "etc"]) {
    mkdirSync(join(root, path), { recursive: true });
  }
  const env = { HOME: home, PATH: bin, XDG_RUNTIME_DIR: `/run/user/${uid}`, ...given.env };
  let source = programOf(dir, "1.0.0");
  const exec_path = join(dir, "node");
  writeFileSync(exec_path, NODE, { mode: 0o755 });
  const host = serviceHost(env, {
    platform,
    uid,
    user: uid === 0 ? "root" : "me",
    home,
    clock,
    root,
    exec_path,
    program: () => source,
  });
  set("unit-user", join(home, ".config/systemd/user/touchstoned.service"));
  set("unit-system", join(root, "etc/systemd/system/touchstoned.service"));
  set("version", "systemd 252 (252.39-1~deb12u2)\n+PAM +AUDIT\n");
  set("calls", "");
  const recorded = { print: "macos/launchctl-print/04-gui503-bird-nested-states.txt" };
  set("print", fixture(`probes/${recorded.print}`).toString());
  const missing = "macos/launchctl-print/07-not-loaded-bad-request-two-lines.txt";
  set("not-found", fixture(`probes/${missing}`).toString());
  set("show-user", fixture("probes/linux/loginctl-show-user/01-core-linger-yes.txt").toString());
  let faults = 0;
  return {
    dir,
    home,
    station,
    state_dir: join(home, "state"),
    host,
    clock,
    env,
    calls() {
      const lines = readFileSync(state("calls"), "utf8").split("\n").slice(0, -1);
      set("calls", "");
      return lines;
    },
    set,
    has: (name) => existsSync(state(name)),
    fault(tool, pattern, { code, stderr = "", stdout = "", times = 1 }) {
      faults += 1;
      const folder = state(`faults/${tool}/${faults}`);
      mkdirSync(folder, { recursive: true });
      const parts = { pattern, code, stderr, stdout, left: times };
      for (const [name, value] of Object.entries(parts)) {
        writeFileSync(
          join(folder, name),
          `${value}${name === "stderr" && value !== "" ? "\n" : ""}`,
        );
      }
    },
    remove: (tool) => rmSync(join(bin, tool)),
    program(version) {
      source = programOf(dir, version);
    },
    daemonWrites(version) {
      const snapshot = {
        schema_version: 1,
        version,
        process: processIdentity(process.pid),
        stop: "none",
        updated: "2999-01-01T00:00:00.000Z",
        next_look: "2999-01-01T00:01:00.000Z",
      };
      const prepared = state("daemon.json");
      writeFileSync(prepared, JSON.stringify(snapshot));
      const target = join(home, "state", "daemon.json");
      mkdirSync(dirname(target), { recursive: true });
      set("on-start", `cp '${prepared}' '${target}'\n`);
    },
  };
}
