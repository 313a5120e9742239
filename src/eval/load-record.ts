import { z } from "zod";
import { readTextIfThere } from "../core/files.ts";
import { parseJsonLenient } from "../core/json.ts";
import { bundlePaths } from "./bundle-paths.ts";

const amount = z.number().nullable();

const loadRecordSchema = z.object({
  schema_version: z.literal(1),
  model: z.string(),
  outcome: z.enum(["ok", "failed", "not_applicable"]),
  /** Why it failed or does not apply; null where it is ok. */
  reason: z.string().nullable(),
  /** Class of the fault and whether another try may do better; null unless it failed. */
  fault_class: z.string().nullable(),
  retryable: z.boolean().nullable(),
  started: z.string(),
  duration_s: z.number(),
  residency: z.enum(["managed", "fixed", "unknown"]),
  /** Memory in use before the load and after it, megabytes. */
  baseline_used_mb: amount,
  steady_used_mb: amount,
  /** Memory for the weights, or null with the reason why that cannot be said. */
  weights_delta_mb: amount,
  weights_delta_reason: z.string().nullable(),
  invocation: z.string(),
});

/** `load.json`: how the model came into memory and what it took. */
export type LoadRecord = z.output<typeof loadRecordSchema>;

/** The load record of a bundle; null where there is none that is whole. */
export function readLoad(bundle_dir: string): LoadRecord | null {
  const text = readTextIfThere(bundlePaths(bundle_dir).load);
  if (text === undefined) return null;
  const record = loadRecordSchema.safeParse(parseJsonLenient(text));
  return record.success ? record.data : null;
}
