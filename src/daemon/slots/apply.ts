import { rmSync } from "node:fs";
import { join } from "node:path";
import { isoTime, type Clock } from "../../core/clock.ts";
import { EXIT, TouchstonedError } from "../../core/errors.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../../core/files.ts";
import { prettyJson } from "../../core/json.ts";
import type { AllowedAnswer } from "../../evidence/fast.ts";
import {
  connectRunner,
  restoreSteps,
  slotControl,
  type Before,
  type ControlOptions,
  type ControlStep,
  type RunnerSettings,
} from "../../runners/index.ts";

/** What `slots apply` changed, so that it can be taken back after months. */
interface Applied {
  schema: "touchstoned/slots-applied/1";
  runner: string;
  slots: number;
  /** Before the first change. */
  before: Before;
  applied_at: string;
}

export interface ApplyOptions {
  state_dir: string;
  runner: RunnerSettings;
  control: Omit<ControlOptions, "gone">;
  clock: Clock;
  dry_run: boolean;
  say: (text: string) => void;
  /** Longest wait for the runner to answer again, seconds [120]. */
  back_limit_s?: number;
}

const BACK_LIMIT_S = 120;
const GONE_LIMIT_S = 60;
const LOOK_MS = 500;

function appliedPath(state_dir: string): string {
  return join(state_dir, "slots", "applied.json");
}

function readApplied(state_dir: string): Applied | undefined {
  const text = readTextIfThere(appliedPath(state_dir));
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as Applied;
    if (value.schema === "touchstoned/slots-applied/1") return value;
  } catch {
    // Said below.
  }
  throw new TouchstonedError({
    code: "applied_unreadable",
    exitCode: EXIT.failed,
    message: `${appliedPath(state_dir)}: it does not say what was there before`,
    hint: "Set the slots back by hand, and remove the file.",
  });
}

function refuse(message: string, hint: string): TouchstonedError {
  return new TouchstonedError({ code: "not_measured", exitCode: EXIT.refused, message, hint });
}

/** Throws (exit 3) where nothing shows that this device can serve so many. */
export function requireMeasured(slots: number, answer: AllowedAnswer): void {
  const { evidence, reason } = answer;
  if (slots === 1 || (evidence !== null && slots <= evidence.max_safe)) return;
  const why =
    evidence === null ? reason : `${evidence.max_safe} is the last number inside every bound`;
  throw refuse(
    `${slots} slots were not measured to be safe here: ${why}`,
    "Measure first (`touchstoned slots calibrate`), or say --force.",
  );
}

/** Looks until the runner answers, or answers no more. */
async function waitUntil(
  wanted: "up" | "gone",
  { runner, clock }: ApplyOptions,
  limit_s: number,
): Promise<void> {
  const connected = connectRunner(runner, { clock });
  const deadline_ms = clock.monotonic_ms() + limit_s * 1000;
  for (;;) {
    const { reachable } = await connected.status();
    if (reachable === (wanted === "up")) return;
    if (clock.monotonic_ms() >= deadline_ms) {
      const what = wanted === "up" ? "does not answer" : "still answers";
      throw new TouchstonedError({
        code: wanted === "up" ? "runner_not_back" : "runner_not_gone",
        exitCode: EXIT.unavailable,
        message: `runner "${runner.name}" ${what} ${limit_s} s after it was told to ${wanted === "up" ? "start" : "quit"}`,
        hint: "Start it again by hand. `touchstoned slots apply --undo` puts its slots back.",
      });
    }
    await clock.sleep(LOOK_MS);
  }
}

function controlOf(options: ApplyOptions): ControlOptions {
  return { ...options.control, gone: () => waitUntil("gone", options, GONE_LIMIT_S) };
}

/** Says every step, and does them where that is not all that was asked for. */
async function perform(steps: readonly ControlStep[], options: ApplyOptions): Promise<void> {
  const { dry_run, say } = options;
  for (const { text } of steps) say(dry_run ? `would: ${text}` : `will: ${text}`);
  if (dry_run) return;
  for (const { act } of steps) await act();
  await waitUntil("up", options, options.back_limit_s ?? BACK_LIMIT_S);
}

function refuseOthers({ name, kind }: RunnerSettings): void {
  if (kind === "ollama") return;
  throw refuse(
    `the slots of runner "${name}" (${kind}) are set where it is started, not by this program`,
    "llama-server: -np N and N times the context with -c. LM Studio: `lms load --parallel N`.",
  );
}

/** Gives the production runner so many slots. What was there before is written down first. */
export async function applySlots(slots: number, options: ApplyOptions): Promise<void> {
  const { state_dir, runner, clock, dry_run } = options;
  refuseOthers(runner);
  const control = await slotControl(controlOf(options));
  const earlier = readApplied(state_dir);
  if (!dry_run) {
    ensureDir(join(state_dir, "slots"), 0o700);
    const applied: Applied = {
      schema: "touchstoned/slots-applied/1",
      runner: runner.name,
      slots,
      // After a second change it is still the first state that is gone back to.
      before: earlier?.before ?? control.before,
      applied_at: isoTime(clock.now_ms()),
    };
    writeFileAtomic(appliedPath(state_dir), prettyJson(applied), 0o600);
  }
  await perform(control.set(slots), options);
}

/** Puts the slots back as they were before the first `slots apply`. False: nothing was changed. */
export async function undoSlots(options: ApplyOptions): Promise<boolean> {
  const applied = readApplied(options.state_dir);
  if (applied === undefined) return false;
  await perform(restoreSteps(applied.before, controlOf(options)), options);
  if (!options.dry_run) rmSync(appliedPath(options.state_dir), { force: true });
  return true;
}
