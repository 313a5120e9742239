import { isObject } from "../core/is-object.ts";
import { readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { parseJsonLenient, prettyJson } from "../core/json.ts";
import type { Accelerator, DeviceField } from "./device-reading.ts";

const SCHEMA = "touchstoned/device-cache/1";

/** What was read last of each field. Fields that were never read are not there. */
export interface DeviceCache {
  boot: string | null;
  bus: string | null;
  values: Partial<Record<DeviceField, unknown>>;
}

function isAccelerator(value: unknown): value is Accelerator {
  if (!isObject(value)) return false;
  const numbers = [value["memory_mb"], value["cores"]];
  return (
    typeof value["name"] === "string" &&
    (value["driver"] === null || typeof value["driver"] === "string") &&
    numbers.every((one) => one === null || typeof one === "number")
  );
}

/** Whether a cached value may stand for a reading of the field: the file may be anybody's. */
export function fitsField(field: DeviceField, value: unknown): boolean {
  if (field === "accelerators") return Array.isArray(value) && value.every(isAccelerator);
  return typeof value === (field === "memory_bytes" ? "number" : "string");
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Undefined where there is none, or one that is not understood. */
export function loadDeviceCache(path: string): DeviceCache | undefined {
  let text: string | undefined;
  try {
    text = readTextIfThere(path);
  } catch {
    return undefined;
  }
  const parsed = text === undefined ? undefined : parseJsonLenient(text);
  if (!isObject(parsed) || parsed["schema"] !== SCHEMA) return undefined;
  const { boot, bus, values } = parsed;
  if (!isObject(values)) return undefined;
  return { boot: textOrNull(boot), bus: textOrNull(bus), values };
}

/** Why it could not be written; null where it was. */
export function saveDeviceCache(path: string, cache: DeviceCache): string | null {
  try {
    writeFileAtomic(path, prettyJson({ schema: SCHEMA, ...cache }), 0o600);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
