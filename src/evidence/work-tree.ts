import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readPublicKey, deviceName, type DevicePublicKey } from "./light.ts";
import { DEVICES_DIR, DOCUMENT_PATH, EVIDENCE_DIR } from "./paths.ts";

function names(path: string): string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Documents of evidence in a work tree, oldest first within a device and model. Links are left out. */
export function documentsBelow(root: string): { path: string; size: number }[] {
  const found: { path: string; size: number }[] = [];
  const top = join(root, EVIDENCE_DIR);
  if (!isDirectory(top)) return found;
  for (const device of names(top)) {
    if (!isDirectory(join(top, device))) continue;
    for (const model of names(join(top, device))) {
      if (!isDirectory(join(top, device, model))) continue;
      for (const name of names(join(top, device, model))) {
        const path = `${EVIDENCE_DIR}/${device}/${model}/${name}`;
        const stats = lstatSync(join(root, path), { throwIfNoEntry: false });
        if (DOCUMENT_PATH.test(path) && stats?.isFile() === true) {
          found.push({ path, size: stats.size });
        }
      }
    }
  }
  return found;
}

export interface PinnedKeys {
  keys: DevicePublicKey[];
  faults: { path: string; fault: string }[];
}

/** The keys that a repository pins: `evidence/devices/<device>.pub`. */
export function pinnedKeys(root: string): PinnedKeys {
  const pinned: PinnedKeys = { keys: [], faults: [] };
  for (const name of names(join(root, DEVICES_DIR))) {
    if (!name.endsWith(".pub")) continue;
    const path = `${DEVICES_DIR}/${name}`;
    try {
      const key = readPublicKey(readFileSync(join(root, path), "utf8"));
      if (`${deviceName(key.fingerprint)}.pub` === name) pinned.keys.push(key);
      else pinned.faults.push({ path, fault: "it is the key of another device" });
    } catch {
      pinned.faults.push({ path, fault: "it is no Ed25519 public key" });
    }
  }
  return pinned;
}
