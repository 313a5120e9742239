/**
 * The part of this room that loads nothing at all but Node's own file system: what `slots allowed`
 * needs while nothing has changed.
 */
export {
  decide,
  type AllowedInput,
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
export {
  settled,
  snapshotPath,
  sourceMark,
  writeSnapshot,
  type AllowedSnapshot,
  type SnapshotRunner,
  type Source,
} from "./snapshot.ts";
