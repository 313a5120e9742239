import { z } from "zod";

export const CORPUS_SCHEMA = "touchstoned/slot-corpus/1";

/** Independent segments without which no fidelity verdict can pass: none of 59 flips, 95 %, 0.05. */
export const SEGMENTS_FOR_FIDELITY = 59;

const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const toolCallSchema = z.strictObject({
  id: z.string().nullable().optional(),
  name: z.string(),
  /** The JSON of the arguments as the model wrote it. */
  arguments_text: z.string(),
});

/** One message, in the form that all runners take. */
export const corpusMessageSchema = z.strictObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string(),
  tool_calls: z.array(toolCallSchema).optional(),
  tool_call_id: z.string().optional(),
  tool_name: z.string().optional(),
});

export const corpusToolSchema = z.record(z.string(), z.json());

const turnSchema = z.strictObject({
  id: z.string(),
  messages: z.array(corpusMessageSchema).min(1),
  tools: z.array(corpusToolSchema).optional(),
  /** What the server that once answered it counted; null where that is not recorded. */
  recorded_prompt_tokens: count.nullable(),
  recorded_output_tokens: count.nullable(),
});

const segmentSchema = z.strictObject({
  id: z.string(),
  /** Opaque: made from the conversation's own text, no path and no name. */
  run: z.string(),
  stratum: z.string(),
  weight: z.number().positive(),
  /** Of its first turn. */
  depth_tokens: count,
  depth_source: z.enum(["server", "estimate"]),
  turns: z.array(turnSchema).min(1),
});

export const corpusSchema = z.strictObject({
  schema: z.literal(CORPUS_SCHEMA),
  seed: z.int(),
  segment_length: z.int().positive(),
  /** Lower edges, in tokens, of all strata but the first, which begins at 0. */
  strata: z.array(z.int().positive()),
  shared_prefix_allowed: z.boolean(),
  source: z.strictObject({ kind: z.enum(["bundles", "requests", "pack"]), sha256 }),
  population: z.strictObject({
    runs: count,
    turns: count,
    /** Turns whose depth a server counted; that of the others is an estimate. */
    turns_measured: count,
    characters_per_token: z.number().positive(),
    strata: z.array(z.strictObject({ label: z.string(), turns: count, share: z.number() })),
  }),
  allocation: z.array(z.strictObject({ label: z.string(), segments: count })),
  /** Caveats, in words; evidence repeats them. */
  notes: z.array(z.string()),
  segments: z.array(segmentSchema).min(1),
  /** SHA-256 of the canonical JSON of everything above. */
  sha256,
});

export type Corpus = z.infer<typeof corpusSchema>;
export type CorpusSegment = z.infer<typeof segmentSchema>;
export type CorpusTurn = z.infer<typeof turnSchema>;
export type CorpusMessage = z.infer<typeof corpusMessageSchema>;
export type CorpusTool = z.infer<typeof corpusToolSchema>;
