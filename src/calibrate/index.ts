export { GAVE_WAY, runSweep, TIME_OVER } from "./sweep.ts";
export type { ExtraWish } from "./sweep-plan.ts";
export type { SweepProgress } from "./sweep-progress.ts";
export type { SweepState } from "./sweep-state.ts";
export type { DeviceStart, Sampling, Segment } from "./device.ts";
export { RealDevice } from "./real-device.ts";
export type { ReadingsRecorder, RecordedReadings } from "./period-readings.ts";
export { CALIBRATION_LIMITS, loadBody, requestBody } from "./requests.ts";
export {
  coldness,
  launchAttached,
  launchOllama,
  launchOwn,
  type Launch,
  type LaunchPlan,
} from "./launch.ts";
export { nothingHeld, type Neighbour } from "./watch.ts";
export { openTurnLog } from "./turn-log.ts";
export {
  corpusSummary,
  isCorpusFile,
  loadCorpus,
  segmentsOf,
  turnMessages,
  writeCorpus,
} from "./corpus.ts";
export { DEFAULT_DRAW, drawCorpus, type DrawOptions } from "./corpus-draw.ts";
export { type Corpus } from "./corpus-schema.ts";
export { makePool, type RecordedRequest, type Recordings } from "./pool.ts";
export { readRequestLogs } from "./request-log.ts";
