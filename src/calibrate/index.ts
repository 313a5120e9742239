export type {
  CalibrationDevice,
  DeviceStart,
  PeriodRequest,
  PeriodResult,
  Segment,
  Turn,
  TurnOutcome,
} from "./device.ts";
export { forecast } from "./sweep-forecast.ts";
export type { Forecast } from "./sweep-forecast.ts";
export type { ExtraWish } from "./sweep-plan.ts";
export type { SweepProgress } from "./sweep-progress.ts";
export type { SweepState } from "./sweep-state.ts";
export { runSweep } from "./sweep.ts";
export type { SweepOptions } from "./sweep.ts";
