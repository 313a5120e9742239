/** The part of this room that loads neither a schema library nor YAML: what the daemon lives with. */
export { askingUser, chainFault, modeFault } from "./guarded.ts";
export { acquireModelLock, type ModelLock } from "./lock.ts";
export { statIfThere } from "./lock-file.ts";
export { lockingProcesses, lockKeeper } from "./lock-holder.ts";
export { resolveLockPath } from "./lock-path.ts";
export type { Station } from "./open.ts";
export { stationId } from "./locate.ts";
export { confine, requireInbox } from "./confine.ts";
export type { Scheduled } from "./queue-schema.ts";
export {
  isInside,
  machineConfigPath,
  POLICY_NAME,
  userPaths,
  variable,
  type Env,
} from "./paths.ts";
export { requireRuns, runsFault } from "./runs-place.ts";
