export type { CalibrationDevice, DeviceStart, Segment, Turn } from "./device.ts";
export { RealDevice, type RealDeviceOptions } from "./real-device.ts";
export type { RequestPlan, Surroundings } from "./real-start.ts";
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
export { openTurnLog, type TurnLog } from "./turn-log.ts";
