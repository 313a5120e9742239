export { rebuildText, runDaemon, type DaemonOptions } from "./daemon.ts";
export { checkStation, type StationCheck } from "./fsck.ts";
export { stateFiles, wakeDaemon, type StateFiles } from "./files.ts";
export { rebuildStore, type RebuildReport } from "./rebuild.ts";
export { openSetting, takeDaemonLock, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
