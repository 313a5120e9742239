/**
 * The part of this room that loads neither a schema library nor git, for what is asked many times a
 * minute: reading evidence and believing it or not.
 */
import { createHash, createPublicKey, verify, type KeyObject } from "node:crypto";
import { canonicalJson, contentHash } from "../core/json.ts";

export { outboxState, type OutboxState } from "./outbox-state.ts";
export { askAgain, openRequest, requestCalibration, requestKey, requestPath } from "./requests.ts";

export const EVIDENCE_SCHEMA = "touchstoned/slot-evidence/1";
/** A document of this size or more is refused, when it is written and when it is read. */
export const MAX_EVIDENCE_BYTES = 64 * 1024;

const DAY_MS = 86_400_000;

/** What a document says about itself, for those who need no more. Its parts are not checked. */
export interface LightEvidence {
  key: string;
  identity: { device_key: string } & Record<string, unknown>;
  created: string;
  oldest_measured: string;
  verdict: { result: string; recommended: number; max_safe: number } & Record<string, unknown>;
  sweep: { complete: boolean } & Record<string, unknown>;
  signature: string;
}

/** A device's public key with the fingerprint that documents name it by. */
export interface DevicePublicKey {
  /** SHA-256 of the key's DER form: `identity.device_key`. */
  fingerprint: string;
  key: KeyObject;
}

/** Reads a public key (PEM). Throws where it is none of Ed25519. */
export function readPublicKey(pem: string): DevicePublicKey {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== "ed25519") throw new TypeError("not an Ed25519 key");
  const der = key.export({ type: "spki", format: "der" });
  return { fingerprint: createHash("sha256").update(der).digest("hex"), key };
}

/** `evidence/<device>`: the first 16 digits of the key's fingerprint. */
export function deviceName(fingerprint: string): string {
  return fingerprint.slice(0, 16);
}

/** Key of the evidence for `identity`: a changed part, another key. */
export function evidenceKey(identity: object): string {
  return contentHash(identity);
}

/** What the signature is made over. */
export function signedText(document: object): string {
  const { signature: _, ...body } = document as { signature?: unknown };
  return canonicalJson(body);
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return record(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function canonicalFault(text: string, document: Record<string, unknown>): string | null {
  try {
    return text === `${canonicalJson(document)}\n`
      ? null
      : "its text is not the canonical form of what it says: it was edited";
  } catch {
    return "it holds what no canonical JSON can";
  }
}

function signatureFault(
  document: Record<string, unknown>,
  keys: readonly DevicePublicKey[],
): string | null {
  const { signature } = document;
  const fingerprint = record(document["identity"])?.["device_key"];
  if (typeof signature !== "string" || typeof fingerprint !== "string") return "it is not signed";
  const device = keys.find((key) => key.fingerprint === fingerprint);
  if (device === undefined) {
    return `it is of device ${deviceName(fingerprint)}, whose key is not among those that are accepted`;
  }
  const bytes = Buffer.from(signature, "base64");
  // Decoding is lenient about blanks and the last bits; an edited signature is an edited document.
  const right =
    bytes.toString("base64") === signature &&
    verify(null, Buffer.from(signedText(document)), device.key, bytes);
  return right ? null : "its signature does not fit: it was edited, or signed by another device";
}

/** Kinds of values in the parts that callers read without a schema. */
function shapeFault(document: Record<string, unknown>): string | null {
  const [verdict, sweep] = [record(document["verdict"]), record(document["sweep"])];
  const numbers = [verdict?.["recommended"], verdict?.["max_safe"]];
  if (!numbers.every((value) => Number.isInteger(value) && Number(value) >= 1)) {
    return "its verdict has no number of slots";
  }
  if (typeof verdict?.["result"] !== "string" || typeof sweep?.["complete"] !== "boolean") {
    return "its sweep or its verdict is not whole";
  }
  const dates = [document["created"], document["oldest_measured"]];
  return dates.every((date) => typeof date === "string") ? null : "it has no dates";
}

export type LightCheck =
  | { ok: true; evidence: LightEvidence; fault: null }
  | { ok: false; evidence: null; fault: string };

function refuse(fault: string): LightCheck {
  return { ok: false, evidence: null, fault };
}

/**
 * Whether a text is evidence that is signed by one of `keys` and is as it was when it was signed, to
 * the byte. Does not look at its age, and does not judge its sweep again.
 */
export function checkEvidence(text: string, keys: readonly DevicePublicKey[]): LightCheck {
  if (Buffer.byteLength(text) >= MAX_EVIDENCE_BYTES) return refuse("it has 64 KiB or more");
  const document = parsed(text);
  if (document === undefined) return refuse("it is not a JSON document");
  if (document["schema"] !== EVIDENCE_SCHEMA) {
    return refuse(`its schema is not ${EVIDENCE_SCHEMA}`);
  }
  const identity = record(document["identity"]);
  const fault =
    canonicalFault(text, document) ??
    (identity !== undefined && document["key"] === evidenceKey(identity)
      ? null
      : "its key is not the hash of its identity") ??
    signatureFault(document, keys) ??
    shapeFault(document);
  if (fault !== null) return refuse(fault);
  return { ok: true, evidence: document as unknown as LightEvidence, fault: null };
}

export interface Freshness {
  fresh: boolean;
  age_days: number | null;
  /** Why it is stale; null where it is fresh. */
  reason: string | null;
}

function stale(age_days: number | null, reason: string): Freshness {
  return { fresh: false, age_days, reason };
}

/** A device's clock may run a little behind the one that wrote the date. */
const AHEAD_MS = 60_000;

/**
 * Age counts from the oldest step that was measured. A date that cannot be read, or that lies in the
 * future (a clock was set back), is stale.
 */
export function freshness(
  evidence: Pick<LightEvidence, "oldest_measured" | "created">,
  now_ms: number,
  max_age_days: number,
): Freshness {
  const [oldest_ms, created_ms] = [
    Date.parse(evidence.oldest_measured),
    Date.parse(evidence.created),
  ];
  if (Number.isNaN(oldest_ms) || Number.isNaN(created_ms)) {
    return stale(null, "its dates cannot be read");
  }
  const age_days = (now_ms - oldest_ms) / DAY_MS;
  if (Math.max(oldest_ms, created_ms) > now_ms + AHEAD_MS) {
    return stale(age_days, "it is dated in the future: a clock was set back, or its date is wrong");
  }
  if (age_days > max_age_days) {
    return stale(
      age_days,
      `its oldest measurement is ${Math.floor(age_days)} days old; ${max_age_days} is the limit`,
    );
  }
  return { fresh: true, age_days, reason: null };
}
