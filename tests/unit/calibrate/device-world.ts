import { systemClock } from "../../../src/core/clock.ts";
import type { TreeExit } from "../../../src/core/process.ts";
import {
  CALIBRATION_LIMITS,
  RealDevice,
  requestBody,
  type Launch,
  type Neighbour,
  type Segment,
} from "../../../src/calibrate/index.ts";
import type { Cold } from "../../../src/calibrate/cold.ts";
import { ServerLog } from "../../../src/calibrate/log-facts.ts";
import type { RecordedReadings } from "../../../src/calibrate/index.ts";
import type { TurnRow } from "../../../src/calibrate/turn-log.ts";
import type { RunnerKind } from "../../../src/runners/index.ts";
import { attach } from "../../helpers/requests.ts";
import { QUIET } from "./answers.ts";

export function segment(id: string, turns = 1): Segment {
  const ids = Array.from({ length: turns }, (_, at) => ({ id: `${id}.${at}`, segment_id: id }));
  return { id, stratum: "all", weight: 1, turns: ids };
}

export interface DeviceSetting {
  kind: RunnerKind;
  url: string;
  log_path?: string;
  neighbours?: readonly Neighbour[];
  recorded?: Partial<RecordedReadings>;
  cold?: Cold;
  exited?: Promise<TreeExit>;
  launch?: Launch;
  declared_slots?: number;
  tools?: { type: string }[];
  model?: string;
  max_tokens?: number;
}

/** Prompts of segments called `long...` have hundreds of words. */
function promptOf(turn_id: string): string {
  return turn_id.startsWith("long") ? `${turn_id} word`.repeat(400) : `prompt of ${turn_id}`;
}

/** The real device with a server that is there already; rows of its turn log and notes are kept. */
export function deviceOn(setting: DeviceSetting) {
  const {
    kind,
    url,
    log_path,
    model = "fake",
    neighbours = [],
    cold = "cache_off",
    exited = null,
  } = setting;
  const rows: TurnRow[] = [];
  const notes: string[] = [];
  let stopped = 0;
  const more =
    setting.declared_slots === undefined ? {} : { declared_slots: setting.declared_slots };
  const launch: Launch =
    setting.launch ??
    (async () => ({
      runner: attach(kind, url, more),
      url,
      pid: null,
      log: log_path === undefined ? null : new ServerLog(log_path),
      exited,
      async stop() {
        stopped += 1;
      },
    }));
  const device = new RealDevice({
    launch,
    plan: {
      model,
      turn: (id) => ({
        messages: [{ role: "user", content: promptOf(id) }],
        ...(setting.tools === undefined ? {} : { tools: setting.tools }),
      }),
      temperature: 0,
      seed: 42,
      max_tokens: setting.max_tokens ?? 16,
      cold,
      extra_body: requestBody(kind),
      limits: CALIBRATION_LIMITS,
    },
    around: {
      clock: systemClock,
      createRecorder: () => ({
        ready: () => Promise.resolve(),
        start: () => undefined,
        stop: () => ({ ...QUIET, ...setting.recorded }),
        close: () => undefined,
      }),
      neighbours,
      isOurs: (name) => name.replace(/:latest$/, "") === model,
      turn_log: { append: (more_rows) => rows.push(...more_rows), close: () => undefined },
      note: (text) => notes.push(text),
      watch: { interval_ms: 5, settled_ms: 0 },
    },
  });
  return { device, rows, notes, stopped: () => stopped };
}
