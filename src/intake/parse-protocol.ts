import { z } from "zod";
import type { SeenFile } from "../core/disk.ts";
import type { QueueEntry } from "../queue/resident.ts";
import type { Station } from "../station/index.ts";

/** What the parsing child is given, as one line of JSON. */
export interface ParseRequest {
  schema_version: 1;
  /** ULID of the submission to be. */
  id: string;
  /** Absolute path of the queue file; it is not opened again. */
  path: string;
  bytes_base64: string;
  /** Wall clock of the taking-up. */
  created_ms: number;
  /** The station as the daemon opened it. */
  station: Station;
}

/** The directory of a submission and its jobs, as the child plans them. */
export interface SubmissionPlan {
  directory: string;
  /** In the order in which they are to be written; with the last one the directory is complete. */
  files: { path: string; bytes: Buffer }[];
  source: string;
  jobs: { entry: QueueEntry; bundle: string }[];
  warnings: string[];
  /** All that was read for it beside the queue file; null where more than files decided. */
  seen: SeenFile[] | null;
}

/** The child has read untrusted text: nothing that it says may lead out of the directory. */
const segment = /^(?!\.)[A-Za-z0-9._-]{1,200}$/;
const name = z.string().regex(segment);
const filePath = z
  .string()
  .refine(
    (path) => path.split("/").length <= 2 && path.split("/").every((part) => segment.test(part)),
  );

const answerSchema = z.discriminatedUnion("ok", [
  z.strictObject({
    ok: z.literal(true),
    plan: z.strictObject({
      directory: name,
      files: z.array(z.strictObject({ path: filePath, base64: z.base64() })).min(1),
      source: filePath,
      // Checked where it was made; the same program reads it.
      jobs: z.array(z.strictObject({ entry: z.custom<QueueEntry>(), bundle: name })).min(1),
      warnings: z.array(z.string()),
      seen: z
        .array(z.strictObject({ path: z.string(), real: z.string(), key: z.string() }))
        .nullable(),
    }),
  }),
  z.strictObject({
    ok: z.literal(false),
    refusal: z.strictObject({
      rule: z.string(),
      message: z.string(),
      line: z.number().nullable(),
      column: z.number().nullable(),
      what_to_do: z.string(),
    }),
  }),
]);

export type ParseAnswer = z.output<typeof answerSchema>;

/** First line of the child's output: everything is loaded, the request may come. */
export const READY_LINE = "ready";

/** Throws where the text is no answer of ours. */
export function readAnswer(line: string): ParseAnswer {
  return answerSchema.parse(JSON.parse(line));
}

export function planFrom(answer: Extract<ParseAnswer, { ok: true }>): SubmissionPlan {
  const files = answer.plan.files.map(({ path, base64 }) => ({
    path,
    bytes: Buffer.from(base64, "base64"),
  }));
  return { ...answer.plan, files };
}

export function answerOf(plan: SubmissionPlan): ParseAnswer {
  const files = plan.files.map(({ path, bytes }) => ({ path, base64: bytes.toString("base64") }));
  return { ok: true, plan: { ...plan, files } };
}
