export { EvidenceBook, recoverBook } from "./book.ts";
export { flatIdentity, readBookEntries } from "./book-entries.ts";
export { acceptedKeys, findListed, readCatalog, type Catalog, type Listed } from "./catalog.ts";
export { evidenceSvg } from "./chart.ts";
export { commitMessage } from "./commit-message.ts";
export { commitOutbox, type CommitMode, type CommitReport } from "./commit-outbox.ts";
export { compareEvidence, comparisonText } from "./compare.ts";
export { deviceKey, ownPublicKey } from "./device-key.ts";
export { evidenceText, makeEvidence, type EvidenceParts } from "./document.ts";
export { evidenceKey, freshness, outboxState } from "./light.ts";
export { evidenceMarkdown } from "./markdown.ts";
export { inspectGit, type GitReport } from "./git-inspect.ts";
export { evidencePath } from "./paths.ts";
export { withoutPrivateThings, type PrivateThings } from "./privacy.ts";
export {
  openRequest,
  openRequests,
  requestCalibration,
  type CalibrationRequest,
} from "./requests.ts";
export { evidenceSchema, type Conditions, type Evidence, type Identity } from "./schema.ts";
export { pruneEvidence } from "./prune.ts";
export { evidenceRoot, keyFromFile, verifyAt, type FileVerification } from "./verify-files.ts";
export { verifyEvidence } from "./verify.ts";
export { writeEvidence } from "./write.ts";
