import { z } from "zod";
import type { JsonValue } from "../core/json.ts";
import type { StoredSubmission } from "./ports.ts";

const detailSchema = z.looseObject({
  /** `fileKey` of the inbox file when it was taken up. */
  file_key: z.string(),
  /** Absolute path of the submission's directory. */
  directory: z.string(),
  warnings: z.array(z.string()),
});

/** What intake keeps with a submission in the store. */
export type SubmissionDetail = z.output<typeof detailSchema>;

export function detailJson(detail: SubmissionDetail): JsonValue {
  return detail as JsonValue;
}

/** Null where the submission did not come from the inbox. */
export function detailOf(submission: Pick<StoredSubmission, "detail">): SubmissionDetail | null {
  const detail = detailSchema.safeParse(submission.detail);
  return detail.success ? detail.data : null;
}
