export { rebuildText, runDaemon } from "./daemon.ts";
export { checkStation } from "./fsck.ts";
export { wakeDaemon } from "./files.ts";
export { rebuildStore } from "./rebuild.ts";
export { openSetting, takeDaemonLock, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
export { bundleRecordings, packRecordings } from "./calibration/recordings.ts";
export { calibrationModel, deviceIdentity } from "./slots/rebuild.ts";
export { slotsStatus, slotsStatusText } from "./slots/status.ts";
