import type { JsonValue } from "../core/json.ts";
import type { StoredSubmission } from "./ports.ts";

/** What intake keeps with a submission in the store. */
export interface SubmissionDetail {
  /** `fileKey` of the inbox file when it was taken up. */
  file_key: string;
  /** Absolute path of the submission's directory. */
  directory: string;
  warnings: string[];
}

export function detailJson(detail: SubmissionDetail): JsonValue {
  return { ...detail };
}

/** Null where the submission did not come from the inbox. */
export function detailOf(submission: Pick<StoredSubmission, "detail">): SubmissionDetail | null {
  const { detail } = submission;
  if (typeof detail !== "object" || detail === null || Array.isArray(detail)) return null;
  const { file_key, directory, warnings } = detail;
  if (typeof file_key !== "string" || typeof directory !== "string") return null;
  if (!Array.isArray(warnings) || !warnings.every((text) => typeof text === "string")) return null;
  return { file_key, directory, warnings };
}
