import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What a daemon told its service manager, one call a line, in their order. */
export interface Notes {
  /** To be added to the daemon's environment. */
  env: Record<string, string>;
  read(): string[];
}

/** A `systemd-notify` in `dir`, first in PATH, that writes down what it was asked to send. */
export function standInNotify(dir: string, watchdog_ms: number | null): Notes {
  const program = join(dir, "systemd-notify");
  const notes = join(dir, "notes");
  // Each call in one write: several may run at once.
  writeFileSync(program, `#!/bin/sh\nIFS='|'\nprintf '%s\\n' "$NOTIFY_SOCKET|$*" >> '${notes}'\n`);
  chmodSync(program, 0o755);
  const asked = watchdog_ms === null ? {} : { WATCHDOG_USEC: String(watchdog_ms * 1000) };
  return {
    env: {
      PATH: [dir, dirname(process.execPath), process.env["PATH"] ?? ""].join(":"),
      NOTIFY_SOCKET: join(dir, "socket"),
      ...asked,
    },
    read: () => (existsSync(notes) ? readFileSync(notes, "utf8").trimEnd().split("\n") : []),
  };
}

/** A PATH with what the daemon cannot do without, and no systemd-notify. */
export function pathWithoutNotify(dir: string): string {
  const places = (process.env["PATH"] ?? "").split(":");
  for (const name of ["flock", "lockf", "git", "sh", "setpriv"]) {
    const found = places.map((place) => join(place, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(dir, name));
  }
  return dir;
}
