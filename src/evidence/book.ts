import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ensureDir, readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { ownPublicKey } from "./device-key.ts";
import { evidenceText } from "./document.ts";
import {
  checkEvidence,
  deviceName,
  MAX_EVIDENCE_BYTES,
  type DevicePublicKey,
  type LightEvidence,
} from "./light.ts";
import { putInOutbox, type OutboxEntry } from "./outbox.ts";
import { closeRequest, requestKey } from "./requests.ts";
import type { Evidence } from "./schema.ts";
import { documentsBelow } from "./work-tree.ts";

const NAME = /^([0-9a-f]{64})\.json$/;

export interface BookEntry {
  evidence: LightEvidence;
  text: string;
}

/** The newest evidence of this device for each key, in the state: what answers are given from. */
export class EvidenceBook {
  readonly #directory: string;
  readonly #state_dir: string;
  readonly #device: DevicePublicKey;

  constructor(state_dir: string, device: DevicePublicKey) {
    this.#state_dir = state_dir;
    this.#directory = join(state_dir, "evidence");
    this.#device = device;
  }

  /**
   * Takes new evidence: into the outbox first, synced, then into the book, and its request is closed.
   * What a crash in between leaves out is done by `adopt`, before the outbox is committed.
   */
  write(evidence: Evidence): OutboxEntry {
    const public_pem = this.#device.key.export({ type: "spki", format: "pem" }).toString();
    const entry = putInOutbox(this.#state_dir, evidence, {
      previous: this.#previous(evidence),
      public_pem,
    });
    // Whatever the dates say: this is what was measured last, also by a clock that was set back.
    this.#put(evidence.key, evidenceText(evidence));
    this.#closeRequests(evidence);
    return entry;
  }

  /** Takes evidence that is in the outbox and may have got no further. */
  adopt(evidence: Evidence): void {
    if (this.take(evidenceText(evidence))) this.#closeRequests(evidence);
  }

  #closeRequests({ key, identity }: Evidence): void {
    closeRequest(this.#state_dir, key);
    closeRequest(this.#state_dir, requestKey(identity.runner.kind, identity.model.id));
  }

  #put(key: string, text: string): void {
    ensureDir(this.#directory, 0o700);
    writeFileAtomic(this.path(key), text, 0o600);
  }

  /** What the newest other evidence for the same model said. */
  #previous(evidence: Evidence): number | null {
    const before = this.all().filter(
      (entry) => modelOf(entry.evidence) === evidence.identity.model.id,
    );
    const newest = before.sort(
      (a, b) => Date.parse(a.evidence.created) - Date.parse(b.evidence.created),
    );
    return newest.at(-1)?.evidence.verdict.recommended ?? null;
  }

  /** Keeps `text` where it is good, this device's, and newer than what is there. True: it is kept. */
  take(text: string): boolean {
    const checked = checkEvidence(text, [this.#device]);
    if (!checked.ok) return false;
    const { evidence } = checked;
    const there = this.find(evidence.key);
    if (there !== undefined && Date.parse(there.evidence.created) >= Date.parse(evidence.created)) {
      return false;
    }
    this.#put(evidence.key, text);
    return true;
  }

  path(key: string): string {
    return join(this.#directory, `${key}.json`);
  }

  /** The good evidence for `key`; undefined where there is none that is good. */
  find(key: string): BookEntry | undefined {
    const text = readTextIfThere(this.path(key));
    if (text === undefined) return undefined;
    const checked = checkEvidence(text, [this.#device]);
    return checked.ok && checked.evidence.key === key
      ? { evidence: checked.evidence, text }
      : undefined;
  }

  /** Everything that is good, by key. */
  all(): BookEntry[] {
    return this.#keys()
      .map((key) => this.find(key))
      .filter((entry) => entry !== undefined);
  }

  #keys(): string[] {
    let names: string[];
    try {
      names = readdirSync(this.#directory);
    } catch {
      return [];
    }
    return names
      .map((name) => NAME.exec(name)?.[1])
      .filter((key) => key !== undefined)
      .sort();
  }

  /**
   * Takes up own evidence that is in the work tree but not in the book (the state was lost). Only what
   * this device signed counts. Gives the number of documents that were taken up.
   */
  importFrom(root: string): number {
    let taken = 0;
    for (const { path, size } of documentsBelow(root)) {
      if (
        size >= MAX_EVIDENCE_BYTES ||
        !path.startsWith(`evidence/${deviceName(this.#device.fingerprint)}/`)
      )
        continue;
      if (this.take(readFileSync(join(root, path), "utf8"))) taken += 1;
    }
    return taken;
  }
}

function modelOf(evidence: LightEvidence): unknown {
  const { model } = evidence.identity;
  return typeof model === "object" && model !== null && "id" in model ? model.id : undefined;
}

/**
 * Fills the book of a station whose state was lost (but not the device's key) from the work tree.
 * Nothing where the book has anything: what was pruned does not come back.
 */
export function recoverBook(root: string, state_dir: string): number {
  const directory = join(state_dir, "evidence");
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return 0;
  const own = ownPublicKey(state_dir);
  return own === undefined ? 0 : new EvidenceBook(state_dir, own).importFrom(root);
}
