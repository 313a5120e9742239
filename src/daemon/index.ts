export { rebuildText, runDaemon } from "./daemon.ts";
export { checkStation, type StationCheck } from "./fsck.ts";
export { noteHold, wakeDaemon, wasHeld } from "./files.ts";
export { rebuildStore } from "./rebuild.ts";
export { openSetting, takeDaemonLock, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
export { bundleRecordings, packRecordings } from "./calibration/recordings.ts";
export { deviceIdentity } from "./slots/rebuild.ts";
