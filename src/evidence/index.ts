export { EvidenceBook, type BookEntry } from "./book.ts";
export { flatIdentity, readBookEntries } from "./book-entries.ts";
export { evidenceSvg } from "./chart.ts";
export { commitMessage } from "./commit-message.ts";
export { commitOutbox, evidenceRef, type CommitMode, type CommitReport } from "./commit-outbox.ts";
export { deviceKey, ownPublicKey, type DeviceKey } from "./device-key.ts";
export { evidenceText, makeEvidence, type EvidenceParts } from "./document.ts";
export {
  checkEvidence,
  deviceName,
  EVIDENCE_SCHEMA,
  evidenceKey,
  freshness,
  outboxState,
  readPublicKey,
  type DevicePublicKey,
  type LightEvidence,
} from "./light.ts";
export { evidenceMarkdown } from "./markdown.ts";
export { DOCUMENT_PATH, evidencePath, publicKeyPath } from "./paths.ts";
export { privateThings, withoutPrivateThings, type PrivateThings } from "./privacy.ts";
export {
  closeRequest,
  openRequest,
  openRequests,
  requestCalibration,
  type CalibrationRequest,
} from "./requests.ts";
export {
  evidenceSchema,
  identitySchema,
  type Conditions,
  type Evidence,
  type Identity,
  type RawRun,
} from "./schema.ts";
export { verifyEvidence, type Judge, type Verification } from "./verify.ts";
export { documentsBelow, pinnedKeys } from "./work-tree.ts";
export { writeEvidence, type WriteOptions, type Written } from "./write.ts";
