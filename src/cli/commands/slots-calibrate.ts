import { resolve } from "node:path";
import type { ExtraWish, Sampling } from "../../calibrate/index.ts";
import { EXIT, usageError, type ExitCode } from "../../core/errors.ts";
import { calibrateStation, type CalibrationOutcome } from "../../daemon/index.ts";
import { keepAwake } from "../../probes/index.ts";
import { openStation } from "../../station/index.ts";
import { calibrationView, outcomeText } from "../calibration-view.ts";
import type { CommandAction } from "../context.ts";

export interface SlotsCalibrateOptions {
  runner?: string;
  model?: string;
  corpus?: string;
  context?: string;
  maxTokens: string;
  ifRequested?: boolean;
  budget?: string;
  extra: string[];
  productionSampling?: string | true;
  lockWait: string;
  station?: string;
  json?: boolean;
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text.trim()) || !Number.isSafeInteger(value) || value < 1) {
    throw usageError(`--${name}: "${text}" is not a whole number of 1 or more`);
  }
  return value;
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, min: 60, s: 1 };

/** `2h`, `90m`, `1h30m`, `45s`; seconds. */
export function parseBudget(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(h|min|m|s)/g)];
  const whole = parts.map(([part]) => part).join("");
  const seconds = parts.reduce((sum, [, n, unit]) => sum + Number(n) * (UNITS[unit ?? ""] ?? 0), 0);
  if (parts.length === 0 || whole !== text.replaceAll(/\s+(?=\d)/g, "").trim() || seconds <= 0) {
    throw usageError(`--budget: "${text}" is no length of time`, "Examples: 2h, 90m, 1h30m");
  }
  return seconds;
}

/** `N@CONTEXT`. */
export function parseExtra(text: string): ExtraWish {
  const match = /^(\d+)@(\d+)$/.exec(text.trim());
  if (match === null) throw usageError(`--extra: "${text}" is not N@CONTEXT`, "Example: 2@32768");
  const [, slots = "", context = ""] = match;
  return { slots: count("extra", slots), context_per_slot: count("extra", context) };
}

/** `--production-sampling [TEMPERATURE]`; without one the runner's own. */
export function parseSampling(text: string | true | undefined): Sampling | undefined {
  if (text === undefined || text === true) {
    return text === undefined ? undefined : { temperature: null };
  }
  const temperature = Number(text);
  if (text.trim() !== "" && temperature >= 0 && temperature <= 5) return { temperature };
  throw usageError(`--production-sampling: "${text}" is not a temperature`, "Example: 0.7");
}

function lockWait(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw usageError(`--lock-wait: "${text}" is not a number of seconds`);
}

const EXITS = {
  measured: EXIT.done,
  not_requested: EXIT.done,
  too_noisy: EXIT.failed,
  incomplete: EXIT.busy,
} as const satisfies Record<CalibrationOutcome["result"], ExitCode>;

export const run: CommandAction<SlotsCalibrateOptions> = async (options, context) => {
  const { terminal, clock, env, cwd, signal } = context;
  const wish = {
    runner: options.runner,
    model: options.model,
    corpus: options.corpus === undefined ? undefined : resolve(cwd, options.corpus),
    context_per_slot: options.context === undefined ? undefined : count("context", options.context),
    max_tokens: count("max-tokens", options.maxTokens),
    extras: options.extra.map((text) => parseExtra(text)),
    production_sampling: parseSampling(options.productionSampling),
    budget_s: options.budget === undefined ? undefined : parseBudget(options.budget),
    if_requested: options.ifRequested === true,
  };
  const lock_wait_s = lockWait(options.lockWait);
  const station = await openStation({ explicit: options.station, env, cwd });
  const awake =
    station.settings.power.keep_awake === "while_running" ? await keepAwake({ clock }) : null;
  try {
    const onEvent = calibrationView(terminal);
    const outcome = await calibrateStation({
      station,
      wish,
      env,
      clock,
      lock_wait_s,
      signal,
      onEvent,
    });
    terminal.status("");
    if (options.json === true) terminal.json(outcome);
    else for (const line of outcomeText(outcome)) terminal.out(line);
    return EXITS[outcome.result];
  } finally {
    terminal.status("");
    await awake?.release();
  }
};
