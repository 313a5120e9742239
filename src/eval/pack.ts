import { z } from "zod";

const id = z.string().min(1).describe("Unique id");

/** One deterministic check of an answer, beside the judge. Exactly one key. */
const check = z
  .union([
    z.strictObject({ contains: z.string().min(1) }).describe("The answer contains this text"),
    z
      .strictObject({
        regex: z.string().min(1),
        flags: z
          .string()
          .regex(/^[imsu]*$/)
          .optional(),
      })
      .describe("The answer matches this JavaScript pattern"),
    z
      .strictObject({ json_schema: z.record(z.string(), z.unknown()) })
      .describe("The answer is JSON that this schema accepts; remote references are refused"),
    z.strictObject({ max_words: z.int().positive() }).describe("At most so many words"),
    z.strictObject({ equals: z.string() }).describe("The trimmed answer is exactly this"),
  ])
  .describe("A deterministic check");

const prompt = z.strictObject({
  id,
  title: z.string().default(""),
  prompt: z.string().min(1).describe("What the model is asked"),
  tests: z.string().default("").describe("What the prompt tests, for the judge"),
  max_tokens: z.int().positive().nullable().default(null).describe("null = no limit"),
  repeats: z.int().min(1).default(1),
  green_flags: z.array(z.string()).default([]),
  red_flags: z.array(z.string()).default([]),
  safety_critical: z.boolean().default(false),
  format_strict: z.boolean().default(false),
  checks: z.array(check).default([]),
});

/** A pack: prompts, variants, dimensions and scale as data. The format is touchstone's, plus `checks`. */
export const packSchema = z.strictObject({
  id,
  title: z.string().min(1),
  version: z.int().positive().default(1),
  description: z.string().default(""),
  scale: z
    .strictObject({
      "1": z.string(),
      "2": z.string(),
      "3": z.string(),
      "4": z.string(),
      "5": z.string(),
    })
    .describe("What each score from 1 to 5 means"),
  dimensions: z
    .array(
      z.strictObject({
        id,
        name: z.string().min(1),
        weight: z.int().positive().default(1),
        about: z.string().default(""),
      }),
    )
    .min(1),
  ko_rule: z
    .strictObject({
      dimension: z.string().min(1),
      threshold: z.number().default(2),
      red_flag_scope: z.enum(["all", "curated"]).default("all"),
      red_flag_prompts: z.array(z.string()).default([]),
    })
    .optional(),
  prompt_variants: z
    .array(z.strictObject({ id, system_prompt: z.string().nullable().default(null) }))
    .min(1)
    .default([{ id: "none", system_prompt: null }]),
  sampling: z
    .strictObject({ temperature: z.number().min(0).default(0), seed: z.int().default(42) })
    .default({ temperature: 0, seed: 42 }),
  categories: z
    .array(z.strictObject({ id, name: z.string().min(1), prompts: z.array(prompt).min(1) }))
    .min(1),
});

export type Pack = z.output<typeof packSchema>;
export type PackPrompt = z.output<typeof prompt>;
export type PackCheck = z.output<typeof check>;
