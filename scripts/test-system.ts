// `npm run test:system`: the installed program in real machines: Debian trees, booted with systemd.
// `npm run test:system -- ARGUMENTS` hands the arguments on to vitest.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { prepare } from "../tests/system/harness/ability.ts";
import { banner } from "./banner.ts";

const root = join(import.meta.dirname, "..");
const started = performance.now();
const { able, excused, said } = prepare();
if (!able) {
  banner([
    "NO MACHINE CAN BE BOOTED HERE: install, upgrade, reboot, watchdog and cron were NOT tried.",
    ...said.split("\n"),
  ]);
  process.exit(excused ? 0 : 1);
}
process.stderr.write(`${said} (${((performance.now() - started) / 1000).toFixed(1)} s)\n`);
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
const run = spawnSync(
  process.execPath,
  [vitest, "run", "--project", "system", ...process.argv.slice(2)],
  { cwd: root, stdio: "inherit", env: { ...process.env, TOUCHSTONED_NO_SKIPS: "1" } },
);
process.exit(run.status ?? 1);
