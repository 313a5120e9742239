/**
 * Output of a short helper command, null where it is missing, fails or takes longer than
 * `limit_ms`. For commands that must answer at once: what starts programs is loaded only when one
 * is really started, and nothing else happens meanwhile.
 */
export function quickOutput(file: string, args: readonly string[], limit_ms = 2000): string | null {
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const run = spawnSync(file, args, {
    encoding: "utf8",
    timeout: limit_ms,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, LC_ALL: "C" },
  });
  return run.status === 0 && run.error === undefined ? run.stdout : null;
}
