import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configError, systemErrorCode } from "../core/errors.ts";
import { createFileAtomic, ensureDir } from "../core/files.ts";
import { deviceName, readPublicKey, type DevicePublicKey } from "./light.ts";

/** This device's key: what it signs with, and what others know it by. */
export interface DeviceKey extends DevicePublicKey {
  /** Name of its directory below evidence/. */
  name: string;
  public_pem: string;
  /** Ed25519 over the UTF-8 of `text`, base64. */
  sign: (text: string) => string;
}

const KEY_NAME = "device.key";

function makeKey(path: string): void {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  try {
    createFileAtomic(path, pem, 0o600);
  } catch (error) {
    // Another process made one at the same time: that one is the device's.
    if (systemErrorCode(error) !== "EEXIST") throw error;
  }
}

function readPrivate(path: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    if ((stats.mode & 0o077) !== 0) {
      throw configError(
        `${path}: others may read this device's private key (mode ${(stats.mode & 0o777).toString(8)})`,
        `Run: chmod 600 ${path}. If somebody may have read it, remove it: a new key is made, and what was measured must be measured again.`,
        "bad_mode",
      );
    }
    return readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}

/** The device's key in `state_dir`; made (0600) where there is none. Throws (78) for a bad one. */
export function deviceKey(state_dir: string): DeviceKey {
  const path = join(state_dir, KEY_NAME);
  let pem = readPrivate(path);
  if (pem === undefined) {
    ensureDir(state_dir, 0o700);
    makeKey(path);
    pem = readPrivate(path) ?? "";
  }
  try {
    const secret = createPrivateKey(pem);
    const public_pem = createPublicKey(secret).export({ type: "spki", format: "pem" }).toString();
    const { fingerprint, key } = readPublicKey(public_pem);
    return {
      fingerprint,
      key,
      name: deviceName(fingerprint),
      public_pem,
      sign: (text) => sign(null, Buffer.from(text), secret).toString("base64"),
    };
  } catch {
    throw configError(
      `${path}: it is not an Ed25519 private key`,
      "Put the device's key back from a copy, or remove the file: a new key is made, and what was measured must be measured again.",
      "bad_device_key",
    );
  }
}

/** This device's public key where it has one already; nothing is made. */
export function ownPublicKey(state_dir: string): DevicePublicKey | undefined {
  return readPrivate(join(state_dir, KEY_NAME)) === undefined ? undefined : deviceKey(state_dir);
}
