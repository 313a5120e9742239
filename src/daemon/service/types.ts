/** What starts the daemon and starts it again: one of these a machine. */
export const MANAGER_KINDS = [
  "systemd-user",
  "systemd-system",
  "launchd-agent",
  "launchd-daemon",
  "cron",
] as const;

export type ManagerKind = (typeof MANAGER_KINDS)[number];

/** What is wrong, and what a person does about it. */
export interface Problem {
  what: string;
  do: string;
}

/** What a service manager says of our service. */
export interface ManagerFacts {
  /** Its definition (unit, plist, cron block) is in its place. */
  installed: boolean;
  /** It starts by itself: at boot, at login, by cron. */
  enabled: boolean;
  running: boolean;
  /** Of the daemon; null where none runs, and where nobody says. */
  pid: number | null;
  problems: Problem[];
}

/** What `inspectService` finds. It only looks. */
export interface ServiceReport extends ManagerFacts {
  manager: ManagerKind | "none";
  /** Whether this user's services run without a login; null where that is no question. */
  linger: boolean | null;
  /** The station that it runs; null where that is not known. */
  station: string | null;
  /** Version of the program that is installed for it. */
  version: string | null;
  /** Where that program lies. */
  lib: string | null;
  /** Unit file or plist; null for cron. */
  definition: string | null;
}
