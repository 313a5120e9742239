import { z } from "zod";
import type { JsonValue } from "./json.ts";

const jsonObject = z
  .record(z.string(), z.json())
  .transform((value) => value as Record<string, JsonValue>);

/** A model as a queue file or a config names it. Two specs with other options are other models. */
export const modelSpecSchema = z.strictObject({
  id: z.string().trim().min(1).describe("The model's name at its runner"),
  quant: z.string().default("").describe("Label of the quantization, for reports"),
  max_tokens_default: z.int().positive().default(400),
  reasoning_headroom_tokens: z
    .int()
    .min(0)
    .default(0)
    .describe("Added to each prompt's own limit, for models that think first"),
  extra_body: jsonObject.default({}).describe("Merged into the body of each request"),
});

export type ModelSpec = z.output<typeof modelSpecSchema>;
