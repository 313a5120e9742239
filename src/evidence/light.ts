/**
 * The part of this room that loads neither a schema library nor git, for what is asked many times a
 * minute.
 */
export {
  decide,
  type AllowedInput,
  type Decision,
  type EvidenceEntry,
  type FlatIdentity,
  type LiveFacts,
} from "./allowed.ts";
export {
  answerAllowed,
  answerOne,
  type AllowedAnswer,
  type AllowedQuestion,
  type AnswerWorld,
} from "./answer.ts";
export { clearRequest, openRequests, requestKey, writeRequest } from "./requests.ts";
export {
  settled,
  snapshotPath,
  sourceMark,
  writeSnapshot,
  type AllowedSnapshot,
  type SnapshotRunner,
  type Source,
} from "./snapshot.ts";
