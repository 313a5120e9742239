import { lstatSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { shellWord } from "../core/shell-word.ts";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { runCommand, type CommandResult } from "../core/process.ts";
import { parseShow } from "./ollama-service.ts";

// How the number of slots of the Ollama that a person uses is set, and set back. Nothing here is done
// by itself: each step is shown first, and done only when somebody asks.

const VARIABLE = "OLLAMA_NUM_PARALLEL";
const UNIT = "ollama.service";
const DROP_IN = "touchstoned-slots.conf";
const COMMAND_LIMIT_S = 120;

export interface ControlStep {
  /** As a person would type it. */
  text: string;
  act: () => Promise<void>;
}

/** What was there before, to the letter: plain JSON, so that it outlives us. */
export type Before =
  | { by: "launchctl"; value: string | null }
  | {
      by: "systemd";
      scope: "system" | "user";
      path: string;
      text: string | null;
      had_dir: boolean;
    };

/** One way to set the slots of a running Ollama. */
export interface SlotControl {
  before: Before;
  set: (slots: number) => ControlStep[];
}

export interface ControlOptions {
  platform?: NodeJS.Platform;
  env: Readonly<Record<string, string | undefined>>;
  /** Where units of the system are changed [/etc/systemd/system]. */
  system_dir?: string;
  /** Where those of this user are. */
  user_dir: string;
  /** Resolves when the server answers no more; rejects where it goes on. */
  gone: () => Promise<void>;
}

function trouble(message: string, hint: string): TouchstonedError {
  return new TouchstonedError({
    code: "slots_not_set",
    exitCode: EXIT.unavailable,
    message,
    hint,
  });
}

function run(env: ControlOptions["env"], file: string, args: string[]): Promise<CommandResult> {
  const own = Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const options = { timeout_s: COMMAND_LIMIT_S, env: { ...own, LC_ALL: "C" }, inherit_env: false };
  return runCommand(file, args, options);
}

/** A command as a step; `hint` says what to do where it fails. */
function commandStep(
  env: ControlOptions["env"],
  words: [string, ...string[]],
  hint: string,
): ControlStep {
  const [file, ...args] = words;
  const text = words.map(shellWord).join(" ");
  return {
    text,
    async act() {
      const done = await run(env, file, args);
      if (done.ok) return;
      const why = done.stderr.trim() === "" ? (done.error ?? "") : done.stderr.trim();
      throw trouble(`${text}: ${why}`, hint);
    },
  };
}

// ---- macOS: the variable in launchd, and the app started again

function restartApp({ env, gone }: ControlOptions): ControlStep[] {
  const hint = "Quit Ollama and open it by hand; the variable is set already.";
  return [
    commandStep(env, ["osascript", "-e", 'quit app "Ollama"'], hint),
    // Opened while it is on its way out, it would not be opened at all.
    { text: "wait until it has quit", act: gone },
    commandStep(env, ["open", "-a", "Ollama"], hint),
  ];
}

function launchdSteps(options: ControlOptions, value: string | null): ControlStep[] {
  const hint = "Run it in a terminal of the user whose Ollama it is.";
  const words: [string, ...string[]] =
    value === null ? ["launchctl", "unsetenv", VARIABLE] : ["launchctl", "setenv", VARIABLE, value];
  return [commandStep(options.env, words, hint), ...restartApp(options)];
}

async function launchdControl(options: ControlOptions): Promise<SlotControl> {
  const read = await run(options.env, "launchctl", ["getenv", VARIABLE]);
  const value = read.stdout.trim();
  // Nothing said, and nothing complained of: it is not set.
  if (!read.ok && (read.exit_code === null || read.stderr.trim() !== "")) {
    throw trouble(`launchctl getenv ${VARIABLE}: ${read.error ?? read.stderr}`, "Is this macOS?");
  }
  return {
    before: { by: "launchctl", value: value === "" ? null : value },
    set: (slots) => launchdSteps(options, String(slots)),
  };
}

// ---- Linux: a drop-in of the service, and the service started again

type Systemd = Extract<Before, { by: "systemd" }>;

/** A directory of our making, unless somebody else has put something there. */
function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, or gone already.
  }
}

function fileStep(path: string, text: string | null, had_dir: boolean): ControlStep {
  const shown = text === null ? `rm ${shellWord(path)}` : `write ${path}:\n${text.trimEnd()}`;
  return {
    text: shown,
    act() {
      try {
        if (text !== null) {
          ensureDir(dirname(path));
          writeFileAtomic(path, text);
        } else {
          rmSync(path, { force: true });
          if (!had_dir) removeEmpty(dirname(path));
        }
        return Promise.resolve();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const hint =
          "A unit of the system belongs to root: `touchstoned slots apply N --dry-run` shows what root has to do.";
        return Promise.reject(trouble(`${path}: ${why}`, hint));
      }
    },
  };
}

function systemdSteps(
  env: ControlOptions["env"],
  before: Omit<Systemd, "text">,
  text: string | null,
): ControlStep[] {
  const { scope, path, had_dir } = before;
  const how: [string, ...string[]] =
    scope === "user" ? ["systemctl", "--user"] : ["systemctl", "--system"];
  const hint = `Look at \`${how.join(" ")} status ${UNIT}\`.`;
  return [
    fileStep(path, text, had_dir),
    commandStep(env, [...how, "daemon-reload"], hint),
    commandStep(env, [...how, "restart", UNIT], hint),
  ];
}

function dropIn(slots: number): string {
  return `# Made by \`touchstoned slots apply\`; \`touchstoned slots apply --undo\` takes it back.\n[Service]\nEnvironment="${VARIABLE}=${slots}"\n`;
}

async function hasUnit(
  env: ControlOptions["env"],
  scope: Systemd["scope"],
): Promise<string | null> {
  const shown = await run(env, "systemctl", [`--${scope}`, "show", UNIT, "--property=LoadState"]);
  if (!shown.ok)
    return shown.stderr.trim() === "" ? (shown.error ?? "it failed") : shown.stderr.trim();
  const state = parseShow(shown.stdout).get("LoadState") ?? "not told";
  return state === "loaded" ? null : `LoadState is ${state}`;
}

async function systemdControl(options: ControlOptions): Promise<SlotControl> {
  const { env, system_dir = "/etc/systemd/system", user_dir } = options;
  const reasons: string[] = [];
  for (const [scope, base] of [
    ["system", system_dir],
    ["user", user_dir],
  ] as const) {
    const missing = await hasUnit(env, scope);
    if (missing === null) {
      const path = join(base, `${UNIT}.d`, DROP_IN);
      const had_dir = lstatSync(dirname(path), { throwIfNoEntry: false }) !== undefined;
      const before = { by: "systemd", scope, path, had_dir } as const;
      return {
        before: { ...before, text: readTextIfThere(path) ?? null },
        set: (slots) => systemdSteps(env, before, dropIn(slots)),
      };
    }
    reasons.push(`${scope}: ${missing}`);
  }
  throw trouble(
    `there is no ${UNIT} whose slots could be set (${reasons.join("; ")})`,
    `Start Ollama with ${VARIABLE} in its environment; that is all that this command would do.`,
  );
}

/** The way in which the slots of this machine's Ollama are set, and what they are set to now. */
export function slotControl(options: ControlOptions): Promise<SlotControl> {
  const platform = options.platform ?? process.platform;
  if (platform === "darwin") return launchdControl(options);
  if (platform === "linux") return systemdControl(options);
  return Promise.reject(
    trouble(`no way is known to set ${VARIABLE} on ${platform}`, "Set it by hand."),
  );
}

/** Puts back what was there before, to the letter. */
export function restoreSteps(before: Before, options: ControlOptions): ControlStep[] {
  return before.by === "launchctl"
    ? launchdSteps(options, before.value)
    : systemdSteps(options.env, before, before.text);
}
