import { statSync } from "node:fs";
import { EXIT, TouchstonedError, usageError } from "../../core/errors.ts";
import { variable } from "../../station/resident.ts";
import { firstLine, type ServiceHost } from "./host.ts";
import { isSystemWide } from "./places.ts";
import type { ManagerKind } from "./types.ts";

/** Whose rights the daemon has, and whose configuration and state it uses. */
export interface Account {
  user: string;
  uid: number;
  gid: number;
  home: string;
}

/** No more than what may stand in a command line of a shell as it is. */
const USER_NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

function noSuchUser(name: string, said: string): TouchstonedError {
  return usageError(`there is no user "${name}" here: ${said}`, "Name one with --run-as NAME.");
}

/** Looks a user up by the system's own tools, which know directory services, too. */
async function findAccount(host: ServiceHost, name: string): Promise<Account> {
  if (!USER_NAME.test(name)) throw noSuchUser(name, "no name of a user looks like this");
  const [uid, gid] = [await host.run("id", ["-u", name]), await host.run("id", ["-g", name])];
  if (!uid.ok || !gid.ok) throw noSuchUser(name, firstLine(uid));
  const home = await host.run("/bin/sh", ["-c", `echo ~${name}`]);
  const path = home.stdout.trim();
  if (!path.startsWith("/")) throw noSuchUser(name, "it has no home directory");
  return { user: name, uid: Number(uid.stdout), gid: Number(gid.stdout), home: path };
}

function ownAccount(host: ServiceHost): Account {
  const { user, uid, home } = host;
  return { user, uid, gid: process.getgid?.() ?? uid, home };
}

/** Nothing runs as root because somebody typed `sudo`. */
function asRoot(kind: ManagerKind): TouchstonedError {
  const system = isSystemWide(kind);
  return new TouchstonedError({
    code: "as_root",
    exitCode: EXIT.refused,
    message: "you are root: everything that a queue file starts would run as root",
    hint: system
      ? "Say who it is to run as: --run-as NAME (root as well, if you mean it)."
      : "Run it as the user who has the station, or for a service that needs no login: " +
        "touchstoned install --system --run-as NAME (root as well, if you mean it).",
  });
}

function stationOwner(station: string | undefined): number | undefined {
  return station === undefined ? undefined : statSync(station, { throwIfNoEntry: false })?.uid;
}

/** Whose service it becomes. Throws where that would be root without having been asked for. */
export async function chooseAccount(
  kind: ManagerKind,
  host: ServiceHost,
  asked: { run_as: string | undefined; station: string | undefined },
): Promise<Account> {
  const { run_as } = asked;
  if (!isSystemWide(kind)) {
    if (run_as !== undefined && run_as !== host.user) {
      throw usageError(
        `--run-as ${run_as}: this service can only run as you (${host.user})`,
        "Another user goes with --system.",
      );
    }
    if (host.uid === 0 && run_as === undefined) throw asRoot(kind);
    return ownAccount(host);
  }
  const sudo_user = variable(host.env, "SUDO_USER");
  const name = run_as ?? (sudo_user === "root" ? undefined : sudo_user);
  if (name !== undefined) return findAccount(host, name);
  if (host.uid !== 0) return ownAccount(host);
  const owner = stationOwner(asked.station);
  if (owner === undefined || owner === 0) throw asRoot(kind);
  const told = await host.run("id", ["-un", String(owner)]);
  if (!told.ok) throw noSuchUser(String(owner), firstLine(told));
  return findAccount(host, told.stdout.trim());
}

/**
 * The command line that runs `command` as the service will: with the account's rights, and with nothing
 * in its environment but whose it is.
 */
export function asAccount(
  host: ServiceHost,
  account: Account,
  command: readonly string[],
): [file: string, ...args: string[]] {
  const { user, uid, gid, home } = account;
  const clean = ["-i", `HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`, "PATH=/usr/bin:/bin"];
  if (uid === host.uid) return ["env", ...clean, ...command];
  const plain = ["env", ...clean, ...command];
  if (host.platform === "darwin") return ["sudo", "-n", "-u", user, "--", ...plain];
  return ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--", ...plain];
}
