import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileTime } from "../core/clock.ts";
import { inputError } from "../core/errors.ts";
import { readTextIfThere } from "../core/files.ts";
import { slug } from "../core/text.ts";
import { deviceName, readPublicKey, type DevicePublicKey } from "./light.ts";
import { DEVICES_DIR, DOCUMENT_PATH, EVIDENCE_DIR } from "./paths.ts";
import type { Evidence } from "./schema.ts";
import { checkPages } from "./verify-pages.ts";
import { verifyEvidence } from "./verify.ts";
import { pinnedKeys } from "./work-tree.ts";

export interface FileVerification {
  path: string;
  ok: boolean;
  faults: string[];
  /** What a reader should know, and what is no fault. */
  notes: string[];
  /** null where the document has not the right form. */
  recommended: number | null;
  model: string | null;
  device: string | null;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The nearest directory, from `path` up, that has an evidence/ of its own. */
export function evidenceRoot(path: string): string | undefined {
  for (let at = path; ; at = dirname(at)) {
    if (isDirectory(join(at, DEVICES_DIR)) || isDirectory(join(at, EVIDENCE_DIR))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** Files of which a person has to know that they are evidence, wherever they lie. */
function jsonFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory())
      return [".git", "node_modules"].includes(entry.name) ? [] : jsonFiles(path);
    return entry.isFile() && entry.name.endsWith(".json") ? [path] : [];
  });
}

/** The documents that `path` stands for. Throws (64) where there is nothing by that name. */
function documentsAt(path: string): string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw inputError(`${path}: there is no such file or directory`);
  if (!isDirectory(path)) return [path.replace(/\.(?:md|svg)$/, ".json")];
  const inside = join(path, EVIDENCE_DIR);
  return jsonFiles(isDirectory(inside) ? inside : path).sort();
}

function placeFaults(path: string, root: string, evidence: Evidence): string[] {
  const { key, created, identity } = evidence;
  const [, device, model, name = "", key8] = DOCUMENT_PATH.exec(relative(root, path)) ?? [];
  if (device === undefined) return [];
  const faults: string[] = [];
  if (device !== deviceName(identity.device_key))
    faults.push("it lies in another device's directory");
  if (model !== slug(identity.model.id)) faults.push("it lies in another model's directory");
  if (key8 !== key.slice(0, 8)) faults.push("its name has another key");
  if (!name.startsWith(`${fileTime(Date.parse(created))}-`))
    faults.push("its name has another date");
  return faults;
}

/** Checks one file; reads nothing but it, its page and its chart. */
function verifyFile(path: string, keys: readonly DevicePublicKey[]): FileVerification {
  const text = readTextIfThere(path);
  const nothing = { recommended: null, model: null, device: null, notes: [] };
  if (text === undefined) {
    return { path, ok: false, faults: ["there is no such file"], ...nothing };
  }
  const { evidence, faults } = verifyEvidence(text, keys);
  if (evidence === null) return { path, ok: false, faults, ...nothing };
  const root = evidenceRoot(dirname(realpathSync(path)));
  const pages = checkPages(path, evidence);
  const all = [
    ...faults,
    ...pages.faults,
    ...(root === undefined ? [] : placeFaults(realpathSync(path), root, evidence)),
  ];
  return {
    path,
    ok: all.length === 0,
    faults: all,
    notes: pages.notes,
    recommended: evidence.verdict.recommended,
    model: evidence.identity.model.id,
    device: deviceName(evidence.identity.device_key),
  };
}

/** Checks every document at `path` with the keys that are pinned beside it, and `more`. */
export function verifyAt(path: string, more: readonly DevicePublicKey[]): FileVerification[] {
  const files = documentsAt(path);
  const roots = new Map<string, DevicePublicKey[]>();
  const found: FileVerification[] = [];
  for (const file of files) {
    const root = evidenceRoot(dirname(file)) ?? "";
    if (!roots.has(root)) {
      const pinned = root === "" ? { keys: [], faults: [] } : pinnedKeys(root);
      roots.set(root, pinned.keys);
      for (const { path: name, fault } of pinned.faults) {
        const nothing = { recommended: null, model: null, device: null, notes: [] };
        found.push({ path: join(root, name), ok: false, faults: [fault], ...nothing });
      }
    }
    found.push(verifyFile(file, [...(roots.get(root) ?? []), ...more]));
  }
  return found;
}

/** The key in a file that a person names. Throws (64). */
export function keyFromFile(path: string): DevicePublicKey {
  try {
    return readPublicKey(readFileSync(path, "utf8"));
  } catch {
    throw inputError(`${path}: it is no Ed25519 public key`, "A key is at evidence/devices/*.pub.");
  }
}
