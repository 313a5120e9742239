export { calibrationSettings, type CalibrationSettings } from "./calibration.ts";
export { checkConfig, type ConfigReport } from "./check.ts";
export { faultText } from "./config-file.ts";
export { confine, requireInbox } from "./confine.ts";
export { initStation } from "./init.ts";
export { inspectStation, type Inspection } from "./inspect.ts";
export {
  acquireModelLock,
  endModelLock,
  inheritedModelLock,
  lockEnvironment,
  lockStatus,
  type LockStatus,
  type ModelLock,
} from "./lock.ts";
export { openLocked } from "./lock-file.ts";
export { inheritsLease, takeLease, type Lease } from "./lease.ts";
export { livingLeases, type LeaseInfo } from "./lease-info.ts";
export { Turn } from "./lock-turn.ts";
export { lockPlace, resolveLockPath } from "./lock-path.ts";
export { findStation } from "./locate.ts";
export { openStation, stationDirs, type Station } from "./open.ts";
export { settingRows } from "./origin.ts";
export { isInside, toolEnv, userPaths, type Env } from "./paths.ts";
export { resolveRunner } from "./runners.ts";
export { requireRuns, runsFault } from "./runs-place.ts";
export { machineSchema, policySchema, type MachineSettings } from "./schemas.ts";
export { loadMachineSettings } from "./settings.ts";
