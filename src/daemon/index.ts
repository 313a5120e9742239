export { checkStation } from "./fsck.ts";
export { wakeDaemon } from "./files.ts";
export { rebuildStore, rebuildText } from "./rebuild.ts";
export { takeDaemonLock } from "./base.ts";
export { openSetting, type Setting } from "./setting.ts";
export { readSnapshot } from "./snapshot.ts";
