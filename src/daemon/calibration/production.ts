import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { splitCommand } from "../../core/command-line.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { slug } from "../../core/text.ts";
import { runCommand } from "../../core/process.ts";
import { nothingHeld, type Neighbour } from "../../calibrate/index.ts";
import { connectRunner, readSlots, type Runner, type RunnerSettings } from "../../runners/index.ts";
import { resolveRunner, type MachineSettings } from "../../station/index.ts";
import type { CalibrationPlan } from "./plan.ts";
import { notNow, refusal } from "./refusal.ts";

/** Every runner of machine.yaml that is there already and that may hold a model, but `except`. */
export function neighboursOf(
  machine: MachineSettings,
  except: string | null,
  clock: Clock,
): Neighbour[] {
  return machine.runners
    .filter((runner) => runner.url !== undefined && runner.name !== except)
    .map(({ name }) => {
      const runner = connectRunner(resolveRunner(machine, name), { clock });
      return { name, loaded: () => runner.loaded() };
    });
}

const nothing = (): Promise<null> => Promise.resolve(null);

const COMMAND_LIMIT_S = 300;
const GONE_LIMIT_S = 120;
const LOOK_INTERVAL_MS = 500;

async function ownersCommand(command: string, what: string): Promise<string | null> {
  const split = splitCommand(command);
  const [file, ...args] = split.ok ? split.words : [];
  if (file === undefined) return `${what} cannot be run`;
  const done = await runCommand(file, args, { timeout_s: COMMAND_LIMIT_S });
  return done.ok ? null : `${what} failed: ${done.error ?? "no reason"}`;
}

async function waitFor(until: () => Promise<boolean>, clock: Clock): Promise<boolean> {
  const deadline_ms = clock.monotonic_ms() + GONE_LIMIT_S * 1000;
  for (;;) {
    if (await until()) return true;
    if (clock.monotonic_ms() >= deadline_ms) return false;
    await clock.sleep(LOOK_INTERVAL_MS);
  }
}

/**
 * What was stopped by us and not started again yet: a calibration that was killed cannot do it, so the
 * next one does.
 */
function stoppedMark(state_dir: string, runner: string) {
  const path = join(state_dir, "slots", `stopped-${slug(runner)}`);
  return {
    there: () => readTextIfThere(path) !== undefined,
    set() {
      ensureDir(dirname(path), 0o700);
      writeFileAtomic(path, `${runner}\n`, 0o600);
    },
    clear: () => rmSync(path, { force: true }),
  };
}

/** Whether a calibration stopped that production runner and has not started it again (yet). */
export function wasStopped(state_dir: string, runner: string): boolean {
  return stoppedMark(state_dir, runner).there();
}

/**
 * Makes room: where the production server holds its model as long as it lives and its owner said how
 * to stop it, it is stopped. Gives what starts it again, which says why where that fails.
 */
export async function makeRoom(
  plan: CalibrationPlan,
  clock: Clock,
  state_dir: string,
): Promise<() => Promise<string | null>> {
  const { settings, stop_command, start_command } = plan;
  if (plan.residency === "attached" || settings.url === null) return nothing;
  if (stop_command === null || start_command === null) return nothing;
  const runner = connectRunner(settings, { clock });
  const mark = stoppedMark(state_dir, settings.name);
  const absent = (await runner.loaded()).absent === true;
  if (absent && !mark.there()) return nothing;
  const back = async (): Promise<string | null> => {
    const trouble = await ownersCommand(start_command, "start_command");
    if (trouble !== null) return trouble;
    const there = await waitFor(async () => (await runner.status()).reachable, clock);
    if (there) mark.clear();
    return there ? null : `runner "${settings.name}" did not answer again in ${GONE_LIMIT_S} s`;
  };
  if (absent) return back;
  mark.set();
  const failed = await ownersCommand(stop_command, "stop_command");
  if (failed !== null) {
    mark.clear();
    throw notNow("stop_failed", `runner "${settings.name}": ${failed}`, "Look at stop_command.");
  }
  const gone = await waitFor(async () => (await runner.loaded()).absent === true, clock);
  if (gone) return back;
  await back();
  throw notNow(
    "still_there",
    `runner "${settings.name}" still answers ${GONE_LIMIT_S} s after its stop_command`,
    "Look at stop_command in machine.yaml.",
  );
}

/**
 * Throws (75) where another runner holds a model, or where that cannot be told: what is measured
 * beside it would be the rest of this machine.
 */
export async function refuseCompany(
  plan: CalibrationPlan,
  neighbours: readonly Neighbour[],
): Promise<void> {
  const { alone, reason } = await nothingHeld(neighbours);
  if (alone === true) return;
  const { settings, stop_command } = plan;
  const fixed = settings.kind === "llama-server" && settings.url !== null && stop_command === null;
  throw notNow(
    alone === false ? "not_alone" : "not_readable",
    `slots cannot be measured now: ${reason ?? "it cannot be told who else is there"}`,
    fixed
      ? "Say in machine.yaml how to stop and start it (stop_command, start_command), or allow calibrate_production and take calibration away."
      : "Unload it there (Ollama: `ollama stop MODEL`), or wait until it is let go.",
  );
}

/**
 * The slots that the production server has, no more of which are tried on it, and the context of each;
 * null where it does not tell. Throws where the slots cannot be read (3), and while it is at work (75).
 */
export async function liveShape(
  settings: RunnerSettings,
  clock: Clock,
): Promise<{ slots: number; context: number | null }> {
  const { name, kind, url, api_key, declared_slots } = settings;
  const said =
    kind === "llama-server" && url !== null ? await readSlots({ url, api_key }, clock) : null;
  const slots = said?.total_slots ?? said?.slots?.length ?? declared_slots;
  if (slots === null) {
    throw refusal(
      "slots_unknown",
      `how many slots runner "${name}" has cannot be read: ${said?.reason ?? "it does not tell"}`,
      "Say it with declared_slots in machine.yaml.",
    );
  }
  const busy = said?.slots?.filter((slot) => slot.busy === true).length ?? 0;
  if (busy === 0) return { slots, context: said?.context ?? null };
  throw notNow(
    "production_busy",
    `runner "${name}" is at work on ${busy} of its slots; it is measured only while it is idle`,
    "Try later.",
  );
}

/** Programs that bring a machine of their own: what is in them is not in the host's memory figures. */
const MACHINES = /qemu|virtualbox|vbox|vmware|com\.docker|colima|limactl|gvproxy|podman|wslrelay/i;

/** Refuses (exit 3) to measure a production server in a virtual machine or a container of one. */
export async function refuseHidden(
  runner: Runner,
  commandOf: (pid: number) => string,
): Promise<void> {
  const pid = await runner.serverPid();
  const { name } = runner.settings;
  if (pid === null) {
    if (process.platform === "linux") return; // another user's service: its memory is the host's
    throw refusal(
      "hidden_runner",
      `the process of runner "${name}" cannot be found here (a container?): the answer stays 1`,
      "Run it on this machine itself, or say in machine.yaml how to start one to measure on.",
    );
  }
  const command = commandOf(pid);
  if (!MACHINES.test(command)) return;
  throw refusal(
    "hidden_runner",
    `runner "${name}" is inside a machine of its own, whose memory cannot be seen from here: the answer stays 1`,
    "Run touchstoned in there.",
  );
}
