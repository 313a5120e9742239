import { existsSync } from "node:fs";
import { join } from "node:path";
import { exitText, startChild, type ChildProcess } from "../core/child.ts";
import { waitAtMost, type Clock } from "../core/clock.ts";
import { onPath } from "../core/on-path.ts";
import { readPower } from "./power.ts";

/** How long systemd may take to grant the lock (it may ask polkit first). */
const GRANT_LIMIT_MS = 5000;
/** caffeinate says nothing when it works: one that has not ended after this long does. */
const SETTLED_MS = 300;
const RELEASE_LIMIT_MS = 2000;

interface KeepAwakeOptions {
  clock: Clock;
  /** False: only on mains, so that a forgotten laptop does not run its battery empty. */
  on_battery?: boolean;
  /** Shown by `systemd-inhibit --list`. */
  why?: string;
  platform?: NodeJS.Platform;
  root?: string;
  env?: Record<string, string>;
}

export interface KeptAwake {
  active: boolean;
  /** Why the machine may fall asleep; null where it is kept awake. */
  reason: string | null;
  release(): Promise<void>;
}

function inactive(reason: string): KeptAwake {
  return { active: false, reason, release: async () => {} };
}

interface Helper {
  name: string;
  args: string[];
  /** Resolves when the helper holds the machine awake. */
  granted(child: ChildProcess, clock: Clock): Promise<void>;
}

/** Resolves after `limit_ms` with false, or earlier with what `event` says. */
async function within(clock: Clock, limit_ms: number, event: Promise<boolean>): Promise<boolean> {
  return (await waitAtMost(event, limit_ms, clock)) === true;
}

/** Ends with this process: `-w` watches it, so a SIGKILL of ours does not leave it behind. */
const caffeinate: Helper = {
  name: "caffeinate",
  args: ["-i", "-w", String(process.pid)],
  granted: (_child, clock) => clock.sleep(SETTLED_MS),
};

/**
 * systemd holds the lock as long as the command under it runs, and starts that command only when
 * it has the lock: `cat` gives our line back then, and ends with our end of the pipe.
 */
function systemdInhibit(why: string): Helper {
  return {
    name: "systemd-inhibit",
    args: ["--what=sleep:idle", "--mode=block", "--who=touchstoned", `--why=${why}`, "cat"],
    granted: (child) =>
      new Promise((resolve) => {
        child.stdout.once("data", () => resolve());
        child.stdin.write("held\n");
      }),
  };
}

async function hold(helper: Helper, options: KeepAwakeOptions): Promise<KeptAwake> {
  const { clock, env } = options;
  const child = startChild({
    file: helper.name,
    args: helper.args,
    ...(env === undefined ? {} : { env }),
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = child.exited.then(() => false);
  const release = async (): Promise<void> => {
    child.stdin.end();
    child.kill("SIGTERM");
    if (
      await within(
        clock,
        RELEASE_LIMIT_MS,
        child.exited.then(() => true),
      )
    )
      return;
    child.kill("SIGKILL");
    await child.exited;
  };
  const granted = helper.granted(child, clock).then(() => true);
  if (await within(clock, GRANT_LIMIT_MS, Promise.race([ended, granted]))) {
    return { active: true, reason: null, release };
  }
  await release();
  const line = said.trim().split("\n", 1)[0] ?? "";
  const why = line === "" ? exitText(await child.exited) : line.slice(0, 200);
  return inactive(`${helper.name} did not hold: ${why}`);
}

function helperFor(options: KeepAwakeOptions): Helper | string {
  const platform = options.platform ?? process.platform;
  if (platform === "darwin") return caffeinate;
  if (platform !== "linux") return `nothing is known that keeps ${platform} awake`;
  // The folder that systemd itself names as the sign that it runs this machine.
  if (!existsSync(join(options.root ?? "/", "run/systemd/system"))) {
    return "this machine does not run on systemd";
  }
  return systemdInhibit(options.why ?? "a benchmark is running");
}

/**
 * Keeps the machine from falling asleep until `release`, or until this process ends. The lid of a
 * laptop still wins. Never rejects and never fails a run: where it cannot, `reason` says why.
 */
export async function keepAwake(options: KeepAwakeOptions): Promise<KeptAwake> {
  const helper = helperFor(options);
  if (typeof helper === "string") return inactive(helper);
  const path = options.env?.["PATH"] ?? process.env["PATH"] ?? "";
  if (!onPath(helper.name, path)) return inactive(`${helper.name} is not on PATH`);
  if (options.on_battery !== true) {
    const power = await readPower(options);
    if (power.source === "battery") return inactive("on battery: kept awake on mains only");
    if (power.source === null) return inactive(`not known to be on mains: ${power.reason ?? "?"}`);
  }
  return hold(helper, options);
}
