export { checkStation, type StationCheck } from "./fsck.ts";
export { noteHold, wakeDaemon, wasHeld } from "./files.ts";
export { modelMemoryMb } from "./model-memory.ts";
export { rebuildStore, rebuildText } from "./rebuild.ts";
export { takeDaemonLock } from "./base.ts";
export { openSetting, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
export { bundleRecordings, packRecordings } from "./calibration/recordings.ts";
export { deviceIdentity } from "./slots/rebuild.ts";
