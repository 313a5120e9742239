import type { Clock } from "../core/clock.ts";
import type { BoundReader } from "./bound-sample.ts";
import { BoundWindow, type RecordedReadings } from "./bound-window.ts";
import { NvidiaGpus } from "./gpu/nvidia.ts";
import { LinuxBounds } from "./linux/bounds.ts";
import { mayHaveNvidia } from "./linux/gpus.ts";
import { MacBounds } from "./macos/bounds.ts";
import { onPath } from "../core/on-path.ts";
import { unknown } from "./reading.ts";

/** Two looks a second: memory of a load or of a long prompt does not change faster. */
const TICK_MS = 500;

export interface ReadingsRecorderOptions {
  /** The server whose control group counts; null: our own. */
  server_pid: number | null;
  clock: Clock;
  platform?: NodeJS.Platform;
  /** Where /proc and /sys are; "/" but in tests. */
  root?: string;
  /** Variables for the helpers, PATH above all. */
  env?: Record<string, string>;
}

/**
 * Reads the host while something is measured. Made once for many windows: its helpers (nvidia-smi,
 * the shell of macOS) run from the beginning to `close`.
 */
export interface ReadingsRecorder {
  /** Resolves when the helpers have spoken or failed, at the latest after `limit_ms`. */
  ready(limit_ms: number): Promise<void>;
  /** Begins a window and looks at once; a window that is open is dropped. */
  start(): void;
  /** One look now, beside those twice a second. */
  look(): void;
  /** Looks a last time and gives the worst of the window. Throws where none was begun. */
  stop(): RecordedReadings;
  close(): void;
}

function unsupported(platform: string): BoundReader {
  const none = unknown(`${platform} is not known here`);
  const sample = {
    host_used_mb: none,
    host_total_mb: none,
    cgroup: none,
    gpus: none,
    swapped_out: none,
    stalled: none,
    group_stalled: null,
    pressure: none,
    throttled: none,
    stolen: null,
  };
  return { ready: async () => {}, begin: () => {}, read: () => sample, close: () => {} };
}

function boundReader(options: ReadingsRecorderOptions): BoundReader {
  const { server_pid, clock, root = "/", platform = process.platform } = options;
  const env = options.env === undefined ? {} : { env: options.env };
  if (platform === "darwin") return new MacBounds({ clock, ...env });
  if (platform !== "linux") return unsupported(platform);
  const path = options.env?.["PATH"] ?? process.env["PATH"] ?? "";
  const wanted = onPath("nvidia-smi", path) && mayHaveNvidia(root);
  const nvidia = wanted ? new NvidiaGpus(clock, options.env) : undefined;
  return new LinuxBounds({ server_pid, clock, root, nvidia });
}

export function createReadingsRecorder(options: ReadingsRecorderOptions): ReadingsRecorder {
  const { clock } = options;
  const reader = boundReader(options);
  let window: BoundWindow | undefined;
  let end = new AbortController();

  const tick = async (into: BoundWindow, signal: AbortSignal): Promise<void> => {
    let due_ms = clock.monotonic_ms();
    for (;;) {
      // Ticks that were slept through (a suspended machine) are left out, not made up for.
      const late_ms = clock.monotonic_ms() - due_ms;
      due_ms += TICK_MS * (1 + Math.max(0, Math.floor(late_ms / TICK_MS)));
      await clock.sleep(due_ms - clock.monotonic_ms(), signal);
      if (signal.aborted) return;
      into.add(reader.read(false));
    }
  };

  return {
    ready: (limit_ms) => reader.ready(limit_ms),
    start() {
      end.abort();
      end = new AbortController();
      window = new BoundWindow();
      reader.begin();
      window.add(reader.read(true));
      void tick(window, end.signal);
    },
    look() {
      window?.add(reader.read(false));
    },
    stop() {
      end.abort();
      if (window === undefined) throw new Error("no window was begun");
      window.add(reader.read(true));
      const result = window.result();
      window = undefined;
      return result;
    },
    close() {
      end.abort();
      reader.close();
    },
  };
}
