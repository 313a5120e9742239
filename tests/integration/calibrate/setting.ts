import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  drawCorpus,
  makePool,
  writeCorpus,
  type RecordedReadings,
} from "../../../src/calibrate/index.ts";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { calibrateStation, type CalibrationEvent } from "../../../src/daemon/index.ts";
import { openStation } from "../../../src/station/index.ts";
import { isolatedEnv } from "../../helpers/command.ts";
import { testStation, type TestStation } from "../../helpers/station.ts";
import { QUIET } from "../../unit/calibrate/answers.ts";

const SERVE = fileURLToPath(new URL("../../helpers/fake-ollama-serve.ts", import.meta.url));

/** A small corpus of independent questions. */
export function corpusFile(dir: string, segments = 64, words = 12): string {
  const path = join(dir, `corpus-${segments}-${words}.json`);
  const text = (at: number): string =>
    Array.from({ length: words }, (_, word) => `word${(at * 31 + word * 7) % 97}`).join(" ");
  const requests = Array.from({ length: segments }, (_, at) => ({
    messages: [{ role: "user" as const, content: `Question ${at}: ${text(at)}` }],
    tools: [],
    prompt_tokens: null,
    output_tokens: null,
  }));
  const options = { strata: [1024], min_per_stratum: 0, seed: 1, allow_shared_prefix: false };
  const pool = makePool({ kind: "requests", requests, notes: [] });
  writeCorpus(path, drawCorpus(pool, { ...options, segments, segment_length: 1 }));
  return path;
}

/** The fake `ollama`, started by the very Node that runs the tests. */
function fakeOllamaProgram(dir: string): string {
  const path = join(dir, "ollama");
  writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${SERVE}" "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

export interface OllamaSetting {
  /** Behaviour of the Ollama that is started to measure on. */
  fake?: object;
  /** Where production is said to be. */
  url?: string;
  max_slots?: number;
  runners?: string;
}

/** A trusted station whose only runner is an Ollama that is not running, or that is at `url`. */
export function ollamaStation(setting: OllamaSetting = {}): TestStation & { program: string } {
  const { fake = {}, url = "http://127.0.0.1:9", max_slots = 2, runners = "" } = setting;
  const policy = `slots: {max_slots: ${max_slots}}\nlocal_models: {model: tiny}\nevidence: {commit: "off"}\n`;
  const station = testStation({ policy, machine: "" });
  const program = fakeOllamaProgram(station.home);
  const machine = [
    "trusted_stations:",
    `  - ${station.root}`,
    "runners:",
    "  - name: house",
    "    kind: ollama",
    `    url: ${url}`,
    "    calibration:",
    `      binary: ${program}`,
    "      context_length: 512",
    `      env: {FAKE_OLLAMA: '${JSON.stringify(fake)}'}`,
    runners,
  ];
  writeFileSync(station.machine_path, machine.join("\n"), { mode: 0o600 });
  return { ...station, program };
}

/** Calibrates in this process, on a machine that always reads as `recorded` says. */
export async function calibrate(
  { root, home }: TestStation,
  more: {
    wish?: Parameters<typeof calibrateStation>[0]["wish"];
    recorded?: (slots: number) => Partial<RecordedReadings>;
    signal?: AbortSignal;
    clock?: Clock;
  } = {},
) {
  const { clock = systemClock } = more;
  const env = { ...process.env, ...isolatedEnv(home) };
  const events: CalibrationEvent[] = [];
  let starts = 0;
  const outcome = await calibrateStation({
    station: await openStation({ explicit: root, env, cwd: root }),
    wish: { corpus: corpusFile(home), max_tokens: 4, ...more.wish },
    env,
    clock,
    lock_wait_s: 0,
    signal: more.signal,
    onEvent: (event) => events.push(event),
    random: () => 0.3,
    createRecorder: () => ({
      ready: () => Promise.resolve(),
      start: () => (starts += 1),
      stop: () => ({ ...QUIET, throttled: false, unavailable: {}, ...more.recorded?.(starts) }),
      close: () => undefined,
    }),
  });
  const lines = events.map((event) =>
    event.kind === "note" ? event.text : event.progress.message,
  );
  return { outcome, lines };
}

/** Where the state of the one station of that home is. */
export function stateDir({ home }: TestStation): string {
  const root = join(home, "state", "touchstoned");
  return join(root, readdirSync(root)[0] ?? "");
}
