/**
 * The part of this room that loads neither a schema library nor YAML, for commands that are asked
 * many times a minute.
 */
export { locateState } from "./locate.ts";
export { machineConfigPath } from "./paths.ts";
