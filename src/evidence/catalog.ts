import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inputError } from "../core/errors.ts";
import { sha256Hex } from "../core/json.ts";
import { ownPublicKey } from "./device-key.ts";
import { evidenceText } from "./document.ts";
import {
  checkEvidence,
  deviceName,
  MAX_EVIDENCE_BYTES,
  type DevicePublicKey,
  type LightEvidence,
} from "./light.ts";
import { outboxEntries } from "./outbox.ts";
import { documentsBelow, pinnedKeys } from "./work-tree.ts";

/** Where a document was found. `outbox`: it waits to be committed. */
type Place = "work tree" | "state" | "outbox";

/** A document that can be believed. */
export interface Listed {
  evidence: LightEvidence & { identity: { model: { id: string }; runner: { kind: string } } };
  text: string;
  /** Path below the station's root, also where it is not in the work tree yet; null: not known. */
  path: string | null;
  places: Place[];
  device: string;
  /** Signed by this device. */
  own: boolean;
  /** Nothing newer has the same key. */
  newest: boolean;
}

export interface Catalog {
  listed: Listed[];
  /** Files that look like evidence and cannot be believed. */
  refused: { path: string; fault: string }[];
}

interface Found {
  text: string;
  path: string | null;
  place: Place;
}

function inState(state_dir: string): Found[] {
  const directory = join(state_dir, "evidence");
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith(".json"));
  } catch {
    names = [];
  }
  const book = names.map((name): Found => {
    return { text: readFileSync(join(directory, name), "utf8"), path: null, place: "state" };
  });
  const waiting = outboxEntries(state_dir).entries.map(({ evidence, path }): Found => {
    return { text: evidenceText(evidence), path: `${path}.json`, place: "outbox" };
  });
  return [...waiting, ...book];
}

function inWorkTree(root: string): Found[] {
  return documentsBelow(root)
    .filter(({ size }) => size < MAX_EVIDENCE_BYTES)
    .map(({ path }) => ({
      text: readFileSync(join(root, path), "utf8"),
      path,
      place: "work tree",
    }));
}

/** The keys whose signatures count in a station: this device's, and those that are pinned. */
export function acceptedKeys(root: string, state_dir: string | null): DevicePublicKey[] {
  const own = state_dir === null ? undefined : ownPublicKey(state_dir);
  return [...(own === undefined ? [] : [own]), ...pinnedKeys(root).keys];
}

/** All evidence of a station, oldest first; of a plain clone where there is no state. */
export function readCatalog(root: string, state_dir: string | null): Catalog {
  const own = state_dir === null ? undefined : ownPublicKey(state_dir);
  const keys = acceptedKeys(root, state_dir);
  const refused: Catalog["refused"] = [];
  const listed = new Map<string, Listed>();
  for (const { text, path, place } of [
    ...inWorkTree(root),
    ...(state_dir === null ? [] : inState(state_dir)),
  ]) {
    const known = listed.get(sha256Hex(text));
    if (known !== undefined) {
      known.places.push(place);
      known.path ??= path;
      continue;
    }
    const checked = checkEvidence(text, keys);
    if (!checked.ok) {
      refused.push({ path: path ?? "in the state", fault: checked.fault });
      continue;
    }
    const evidence = checked.evidence as Listed["evidence"];
    listed.set(sha256Hex(text), {
      evidence,
      text,
      path,
      places: [place],
      device: deviceName(evidence.identity.device_key),
      own: evidence.identity.device_key === own?.fingerprint,
      newest: false,
    });
  }
  return { listed: withNewest([...listed.values()]), refused };
}

function withNewest(listed: Listed[]): Listed[] {
  const sorted = listed.sort(
    (a, b) => Date.parse(a.evidence.created) - Date.parse(b.evidence.created),
  );
  const last = new Map(sorted.map((entry) => [entry.evidence.key, entry]));
  for (const entry of last.values()) entry.newest = true;
  return sorted;
}

/**
 * The document that `what` names: a path, the beginning of a key, or a model (its newest); without a
 * name the newest of this device, else of all. Throws (64) where there is none, or no single one.
 */
export function findListed(catalog: Catalog, what: string | undefined): Listed {
  const { listed } = catalog;
  if (what === undefined) {
    const newest = listed.findLast(({ own }) => own) ?? listed.at(-1);
    if (newest !== undefined) return newest;
    throw inputError("there is no evidence here", "touchstoned slots calibrate makes some.");
  }
  const plain = what.replace(/^\.\//, "").replace(/\.(?:json|md|svg)$/, "");
  const isNamed = (path: string): boolean => {
    const stem = path.replace(/\.json$/, "");
    return stem.endsWith(plain) || plain.endsWith(`/${stem}`);
  };
  const byPath = listed.filter(({ path }) => path !== null && isNamed(path));
  if (byPath.length === 1 && byPath[0] !== undefined) return byPath[0];
  const byKey = /^[0-9a-f]{4,64}$/.test(what)
    ? listed.filter(({ evidence }) => evidence.key.startsWith(what))
    : [];
  const matches =
    byKey.length > 0 ? byKey : listed.filter(({ evidence }) => evidence.identity.model.id === what);
  const newest = matches.at(-1);
  if (newest === undefined) {
    const refused = catalog.refused.find(({ path }) => isNamed(path));
    if (refused !== undefined) {
      throw inputError(
        `${refused.path}: not believed: ${refused.fault}`,
        "touchstoned evidence verify says what is wrong with it.",
      );
    }
    const known = [...new Set(listed.map(({ evidence }) => evidence.identity.model.id))];
    throw inputError(
      `no evidence is called "${what}"`,
      known.length === 0
        ? "There is none here."
        : `Name a path, the beginning of a key, or a model: ${known.join(", ")}`,
    );
  }
  if (byKey.some(({ evidence }) => evidence.key !== newest.evidence.key)) {
    throw inputError(`"${what}" begins several keys`, "Write more of it (evidence list --json).");
  }
  return newest;
}
