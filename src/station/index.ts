export { checkConfig, type ConfigReport } from "./check.ts";
export { faultText, type ConfigFault } from "./config-file.ts";
export { confine } from "./confine.ts";
export { askingUser, chainFault, modeFault, type Asker } from "./guarded.ts";
export { initStation, type InitReport } from "./init.ts";
export {
  acquireModelLock,
  endModelLock,
  inheritedModelLock,
  lockEnvironment,
  lockStatus,
  type LockStatus,
  type ModelLock,
} from "./lock.ts";
export type { LockHolder, LockProcess } from "./lock-holder.ts";
export { resolveLockPath, type LockPlace } from "./lock-path.ts";
export { findStation, type FindOptions } from "./locate.ts";
export { openStation, type Station } from "./open.ts";
export { settingRows, type Origin, type SettingRow } from "./origin.ts";
export { userPaths, type Env } from "./paths.ts";
export { resolveRunner, type ResolvedRunner } from "./runners.ts";
export {
  machineSchema,
  policySchema,
  type MachineSettings,
  type Policy,
  type RunnerDeclaration,
} from "./schemas.ts";
export { loadMachineSettings, type StationSettings } from "./settings.ts";
