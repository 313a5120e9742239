import type { Clock } from "../core/clock.ts";
import type { Runner } from "../runners/index.ts";
import type { SettleRecord } from "../queue/index.ts";

/** How long and how often to look, and what counts as still; megabytes are 10^6 bytes. */
export interface SettleSettings {
  timeout_s: number;
  plateau_polls: number;
  poll_interval_s: number;
  epsilon_mb: number;
}

export interface SettleOptions {
  settings: SettleSettings;
  runner: Pick<Runner, "residency" | "loaded">;
  /** Memory in use on this host; null where it cannot be read. */
  used_mb: () => number | null;
  clock: Clock;
  signal?: AbortSignal;
}

/** Range over the newest looks; null while there are too few of them or one could not be read. */
function rangeOf(looks: readonly (number | null)[], count: number): number | null {
  if (looks.length < count) return null;
  const window = looks.slice(-count);
  const known = window.filter((look) => look !== null);
  return known.length < window.length ? null : Math.max(...known) - Math.min(...known);
}

interface Release {
  released: boolean | null;
  /** What speaks against it, or why it cannot be told. */
  reason: string | null;
}

async function askRelease(runner: SettleOptions["runner"]): Promise<Release> {
  const { models, reason } = await runner.loaded();
  if (models === null) {
    return { released: null, reason: `the runner does not say what it holds (${reason ?? "?"})` };
  }
  if (models.length === 0) return { released: true, reason: null };
  return { released: false, reason: `still in memory: ${models.join(", ")}` };
}

/**
 * Waits until a released model has really left the memory: the range of memory in use over the last
 * `plateau_polls` steps (one look more than that) stays below `epsilon_mb` *and* the runner says
 * that it holds nothing. Neighbouring looks alone would call a slow steady release a standstill, and
 * a standstill alone would call a failed unload a success.
 *
 * A `managed` runner must say that nothing is loaded; of an `unknown` one the plateau has to do.
 */
export async function waitSettled(options: SettleOptions): Promise<SettleRecord> {
  const { settings, runner, clock } = options;
  const start_ms = clock.monotonic_ms();
  const looks: (number | null)[] = [];
  let release: Release = { released: null, reason: null };
  const record = (outcome: SettleRecord["outcome"], reason: string | null): SettleRecord => ({
    outcome,
    reason,
    waited_s: (clock.monotonic_ms() - start_ms) / 1000,
    polls: looks.length,
    initial_mb: looks[0] ?? null,
    final_mb: looks.at(-1) ?? null,
    released: release.released,
  });
  if (runner.residency === "fixed") {
    return record("not_applicable", "the runner holds its model as long as it lives");
  }
  for (;;) {
    looks.push(options.used_mb());
    const range = rangeOf(looks, settings.plateau_polls + 1);
    if (range !== null && range < settings.epsilon_mb) {
      release = await askRelease(runner);
      const enough = release.released ?? runner.residency === "unknown";
      if (enough) return record("ok", release.reason);
    }
    if (options.signal?.aborted === true) return record("interrupted", "stopped by the user");
    const left_s = settings.timeout_s - (clock.monotonic_ms() - start_ms) / 1000;
    if (left_s <= 0) return record("timeout", timeoutReason(looks, range, release, settings));
    await clock.sleep(Math.min(settings.poll_interval_s, left_s) * 1000, options.signal);
  }
}

function timeoutReason(
  looks: readonly (number | null)[],
  range: number | null,
  release: Release,
  settings: SettleSettings,
): string {
  if (looks.includes(null)) return "the memory in use cannot be read here";
  if (range !== null && range < settings.epsilon_mb) {
    return release.reason ?? "the runner did not say that nothing is loaded";
  }
  const moved = range === null ? "too few looks" : `moved by ${Math.round(range)} MB`;
  return `memory did not come to rest within ${settings.timeout_s} s (${moved})`;
}
