export { corpusSummary, loadCorpus, segmentsOf, turnMessages, writeCorpus } from "./corpus.ts";
export { DEFAULT_DRAW, drawCorpus, type DrawOptions } from "./corpus-draw.ts";
export {
  SEGMENTS_FOR_FIDELITY,
  type Corpus,
  type CorpusMessage,
  type CorpusTool,
} from "./corpus-schema.ts";
export { makePool, type RecordedRequest, type Recordings } from "./pool.ts";
export { readRequestLogs } from "./request-log.ts";
