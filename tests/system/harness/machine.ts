// A Debian machine in a tree of files: booted by systemd-nspawn, spoken to through its namespaces.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "../../helpers/wait.ts";
import { enterCgroup, makeCgroup, removeCgroup } from "./cgroup.ts";
import { nsenter, runInside, words, type Ran, type RunOptions } from "./inside.ts";
import { childrenOf, commandName } from "./processes.ts";
import { NSPAWN } from "./tree.ts";

/** What systemd-nspawn ends with where the machine in it wants to start again. */
const WANTS_REBOOT = 133;

/**
 * A machine alone outlives its systemd-nspawn, and its mounts a killed test. In namespaces of mounts
 * and of processes whose first one dies with this process, nothing is left of either.
 */
const DIES_WITH_US = words(
  "--pdeathsig KILL unshare --mount --mount-proc --pid --fork --kill-child=KILL",
);
/** In the journal: what our own commands leave there. */
const NOISE =
  "run-[a-z0-9]+\\.|session-|pam_|user@|user-runtime|user-[0-9]|skipped because|Reached";
const NSPAWN_OPTIONS = words(
  "--quiet --boot --register=no --keep-unit --console=read-only --link-journal=no",
);
export interface Machine {
  /** Runs a script of bash in a login shell, in the user's home. */
  run(script: string, options?: RunOptions): Promise<Ran>;
  /** The same; its standard output. Fails with all that it said where it does not end with 0. */
  must(script: string, options?: RunOptions): Promise<string>;
  /** Waits until the script ends with 0; fails with the journal after `limit_s` [60]. */
  until(what: string, script: string, options?: RunOptions): Promise<void>;
  /** Shuts down in an orderly way and starts again. */
  reboot(): Promise<void>;
  /** Pulls the plug, and starts again. */
  cutPower(): Promise<void>;
  /** Pulls the plug, and removes everything. */
  destroy(): Promise<void>;
  /** What the journal says last, for the report of a failure. */
  journal(): Promise<string>;
}

export interface MachineSetting {
  name: string;
  /** Folders of files that the machine is made of, the upper ones first; nothing is written into them. */
  layers: readonly string[];
  /** Folders of this machine that are seen in it, and not written: here to there. */
  shown?: Readonly<Record<string, string>>;
  /** Whether it has this computer's network [false: none but its own]. */
  network?: boolean;
}

interface Booted {
  nspawn: ChildProcess;
  exited: Promise<number | null>;
  /** Number of its init. */
  leader: number;
  cgroup: string;
}

/** Starts a machine and waits until it is up. */
export async function bootMachine(setting: MachineSetting): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), `touchstoned-system-${setting.name}-`));
  let booted = await boot(folder, setting);

  const start = async (): Promise<void> => {
    booted = await boot(folder, setting);
  };
  const unplug = async (): Promise<void> => {
    booted.nspawn.kill("SIGKILL");
    await booted.exited;
    await removeCgroup(booted.cgroup);
  };
  const run = (script: string, options: RunOptions = {}): Promise<Ran> =>
    runInside(booted.leader, script, options);
  const journal = async (): Promise<string> =>
    (await run(`journalctl --no-pager | grep -Ev '${NOISE}' | tail -n 40`)).stdout;

  return {
    run,
    journal,
    async must(script, options) {
      const ran = await run(script, options);
      if (ran.code === 0) return ran.stdout;
      throw new Error(`${said(script, ran)}\n--- journal\n${await journal()}`);
    },
    async until(what, script, options = {}) {
      const limit_s = options.limit_s ?? 60;
      const wait = `until ( ${script} ) >/tmp/until-$$ 2>&1; do sleep 0.1; done`;
      const ran = await run(wait, { ...options, limit_s });
      if (ran.code === 0) return;
      const last = await run(script, options);
      throw new Error(
        `waited ${limit_s} s in vain for ${what}\n${said(script, last)}\n--- journal\n${await journal()}`,
      );
    },
    async reboot() {
      await nsenter(booted.leader, ["systemctl", "reboot"], 30);
      const code = await booted.exited;
      if (code !== WANTS_REBOOT) throw new Error(`the machine ended with ${code}, not to reboot`);
      await removeCgroup(booted.cgroup);
      await start();
    },
    async cutPower() {
      await unplug();
      await start();
    },
    async destroy() {
      await unplug();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function said(script: string, ran: Ran): string {
  return `"${script}" ended with ${ran.code}\n--- stdout\n${ran.stdout}\n--- stderr\n${ran.stderr}`;
}

async function boot(folder: string, setting: MachineSetting): Promise<Booted> {
  const at = (name: string): string => join(folder, name);
  for (const name of ["upper", "work", "root"]) mkdirSync(at(name), { recursive: true });
  const overlay = `lowerdir=${setting.layers.join(":")},upperdir=${at("upper")},workdir=${at("work")}`;
  const shown = Object.entries(setting.shown ?? {}).map(
    ([here, there]) => `--bind-ro=${here}:${there}`,
  );
  const nspawn = [
    ...NSPAWN,
    ...NSPAWN_OPTIONS,
    ...(setting.network === true ? [] : ["--private-network"]),
    `--machine=${setting.name}`,
    `--directory=${at("root")}`,
    ...shown,
  ];
  const cgroup = makeCgroup(setting.name);
  const script = `${enterCgroup(cgroup)} && mount -t overlay overlay -o "$0" "$1" && shift && exec "$@"`;
  const log = openSync(at("console.log"), "a");
  const child = spawn(
    "setpriv",
    [...DIES_WITH_US, "sh", "-c", script, overlay, at("root"), ...nspawn],
    {
      stdio: ["ignore", log, log],
      env: {
        PATH: process.env["PATH"],
        SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1",
        SYSTEMD_LOG_LEVEL: "warning",
      },
    },
  );
  closeSync(log);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  try {
    const leader = await initOf(child);
    await up(leader);
    return { nspawn: child, exited, leader, cgroup };
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`the machine did not come up:\n${readFileSync(at("console.log"), "utf8")}`, {
      cause: error,
    });
  }
}

/** The number of the machine's init, once there is one. */
function initOf(nspawn: ChildProcess): Promise<number> {
  return waitFor("the init of the machine", () => {
    if (nspawn.exitCode !== null || nspawn.signalCode !== null) {
      throw new Error(`systemd-nspawn ended with ${nspawn.exitCode ?? nspawn.signalCode}`);
    }
    return childrenOf(nspawn.pid ?? 0)
      .flatMap(childrenOf)
      .find((pid) => commandName(pid) === "systemd");
  });
}

async function up(leader: number): Promise<void> {
  const state = await waitFor(
    "systemd",
    async () => {
      const { stdout } = await nsenter(leader, ["systemctl", "is-system-running", "--wait"], 60);
      return stdout.trim() === "" || stdout.trim() === "offline" ? undefined : stdout.trim();
    },
    60_000,
  );
  if (state === "running") return;
  const { stdout } = await nsenter(leader, ["systemctl", "--failed", "--no-legend"], 30);
  throw new Error(`systemd is ${state}: ${stdout}`);
}
