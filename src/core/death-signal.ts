import { existsSync } from "node:fs";

/** Where util-linux puts it; elsewhere a command is started without. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"];

/**
 * The command with its arguments so that on Linux the kernel tells it to end (SIGTERM) when this
 * process is gone, however that came about.
 */
export function endingWithUs(
  file: string,
  args: readonly string[],
): [file: string, args: readonly string[]] {
  const setpriv =
    process.platform === "linux" ? SETPRIV.find((path) => existsSync(path)) : undefined;
  if (setpriv === undefined) return [file, args];
  return [setpriv, ["--pdeathsig", "TERM", "--", file, ...args]];
}
