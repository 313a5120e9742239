import { z } from "zod";
import { partialJobSettingsSchema } from "../core/job-settings.ts";
import { modelSpecSchema } from "../core/model-spec.ts";

const path = z.string().trim().min(1);

const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\s,]+$/, "must be one word without blanks or commas");

const modelFileSchema = z
  .strictObject({ file: path.describe("Path of a model disk file") })
  .describe("A model disk file");

const entrySchema = z
  .strictObject({
    id: name.optional().describe("Name that `after` of other entries uses; unique in the file"),
    model: z
      .union([z.string().trim().min(1), modelSpecSchema, modelFileSchema])
      .describe("The model's name at its runner, or a mapping with more to say"),
    pack: path.describe("Pack file, relative to the station"),
    config: path.optional().describe("Eval config file, relative to the station"),
    judge_config: path.optional().describe("Judge config file; without one there is no judge step"),
    judge_model: z.string().trim().min(1).optional().describe("Overrides the judge config's model"),
    priority: z.int().default(100).describe("Lower runs sooner"),
    not_before: z.iso
      .datetime({ offset: true, error: "must be an RFC 3339 time such as 2026-11-30T01:00:00Z" })
      .optional()
      .describe("Does not start before this time (RFC 3339)"),
    max_attempts: z.int().min(1).max(1000).default(5).describe("Most executions"),
    after: z.array(name).default([]).describe("Ids of this file that must be complete first"),
    ...partialJobSettingsSchema.shape,
  })
  .describe("One model on one pack");

/** A queue file as a person writes it. The editor schema is generated from this. */
export const queueFileSchema = z
  .strictObject({
    schema_version: z.literal(1).default(1),
    defaults: partialJobSettingsSchema.optional().describe("Settings of all entries"),
    entries: z.array(entrySchema).min(1, "must have at least one entry"),
  })
  .describe("Queue file: what to run, one entry after the other");

export type WrittenEntry = z.output<typeof entrySchema>;
