import { fileTime } from "../core/clock.ts";
import { slug } from "../core/text.ts";
import { deviceName } from "./light.ts";

/** Where committed evidence is, below the station's root. */
export const EVIDENCE_DIR = "evidence";
export const DEVICES_DIR = `${EVIDENCE_DIR}/devices`;

/** `evidence/<device>/<model>/<utc>-<key8>`, less the ending; `again` tells files of one second apart. */
export function evidencePath(
  evidence: {
    key: string;
    created: string;
    identity: { device_key: string; model: { id: string } };
  },
  again = 1,
): string {
  const { key, created, identity } = evidence;
  const directory = `${EVIDENCE_DIR}/${deviceName(identity.device_key)}/${slug(identity.model.id)}`;
  const suffix = again === 1 ? "" : `-${again}`;
  return `${directory}/${fileTime(Date.parse(created))}-${key.slice(0, 8)}${suffix}`;
}

/** Path of the public half of a device's key. */
export function publicKeyPath(device: string): string {
  return `${DEVICES_DIR}/${device}.pub`;
}

/** Documents of evidence by their place: `evidence/<device>/<model>/<name>.json`. */
export const DOCUMENT_PATH =
  /^evidence\/([0-9a-f]{16})\/([A-Za-z0-9._-]{1,80})\/([0-9TZ-]+-([0-9a-f]{8})(?:-\d+)?)\.json$/;
