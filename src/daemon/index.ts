export { checkStation, type StationCheck } from "./fsck.ts";
export { noteHold, stateFiles, wakeDaemon, wasHeld } from "./files.ts";
export { runDoctor, type DoctorReport } from "./doctor/doctor.ts";
export { doctorText } from "./doctor/text.ts";
export { modelMemoryMb } from "./model-memory.ts";
export { rebuildStore, rebuildText } from "./rebuild.ts";
export { takeDaemonLock } from "./base.ts";
export { openSetting, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
export { bundleRecordings, packRecordings } from "./calibration/recordings.ts";
export { calibrateStation } from "./calibration/calibrate-station.ts";
export { calibrateUnattended } from "./calibration/unattended.ts";
export { housekeep } from "./idle/housekeep.ts";
export type { CalibrationEvent, CalibrationOutcome } from "./calibration/wish.ts";
export { calibrationModel, deviceIdentity } from "./slots/rebuild.ts";
export { slotsStatus, slotsStatusText, type SlotsStatus } from "./slots/status.ts";
export { applySlots, requireMeasured, undoSlots, type ApplyOptions } from "./slots/apply.ts";
export { inspectService, type Problem, type ServiceReport } from "./service/index.ts";
export {
  controlService,
  installedService,
  installService,
  logText,
  managerLog,
  planUninstall,
  serviceHost,
  showLog,
  uninstallService,
  upgradeService,
  wantedOf,
  type ControlAction,
  type Step,
  type Watcher,
} from "./service/index.ts";
