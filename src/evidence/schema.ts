import { z } from "zod";
import { sweepSchema, verdictSchema } from "../verdict/index.ts";
import { EVIDENCE_SCHEMA } from "./light.ts";

const hex64 = z.string().regex(/^[0-9a-f]{64}$/, { error: "must be 64 lower-case hex digits" });
/** RFC 3339, UTC. */
const instant = z.iso.datetime();
/** A name from the system. null is "not known", never "there is none". */
const known = z.string().min(1).max(200).nullable();

const acceleratorSchema = z.strictObject({
  name: z.string().min(1).max(200),
  driver: known,
  /** Of its own; null where it shares the host's memory or that is not told. */
  memory_mb: z.number().nonnegative().nullable(),
});

/** What was measured on. A change of any of it makes evidence stale: it has another key then. */
const identitySchema = z
  .strictObject({
    device_key: hex64.describe("SHA-256 of the device's public key"),
    hardware: known,
    processor: known,
    memory_mb: z.number().positive().nullable().describe("Rounded; of the whole machine"),
    accelerators: z
      .array(acceleratorSchema)
      .nullable()
      .describe("Empty: there is none. null: not known"),
    os_release: known,
    runner: z.strictObject({ kind: z.string().min(1).max(60), version: known, build: known }),
    model: z.strictObject({
      id: z.string().min(1).max(200),
      digest: z.string().min(1).max(200).nullable(),
      digest_source: z.enum(["runner", "file", "declared"]),
    }),
    quantization: known,
    context_per_slot: z.int().positive(),
    kv_type: known,
    flash_attention: z.union([z.boolean(), z.string().max(60)]).nullable(),
    batch: z.union([z.int(), z.string().max(120)]).nullable(),
    cache: known,
  })
  .describe("What was measured on; a change makes the evidence stale");

/** How the machine fared: recorded and judged, but no part of the key. */
const conditionsSchema = z
  .strictObject({
    power: z.enum(["ac", "battery"]).nullable(),
    thermal: z.string().max(120).nullable(),
    load: z.number().nonnegative().nullable().describe("Tasks that wanted a core before the start"),
  })
  .describe("How the machine fared; no part of the key. null: not known");

const rawRunSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/, { error: "must be a plain name, no path" }),
  sha256: hex64,
});

/** A document of evidence, as it is committed. Its text is its canonical JSON and one line end. */
export const evidenceSchema = z
  .strictObject({
    schema: z.literal(EVIDENCE_SCHEMA),
    key: hex64.describe("SHA-256 of the canonical JSON of identity"),
    identity: identitySchema,
    conditions: conditionsSchema,
    sweep: sweepSchema.describe("What was measured"),
    verdict: verdictSchema.describe("What follows from it"),
    raw: z
      .strictObject({ runs: z.array(rawRunSchema) })
      .describe("The raw turns, which stay on the device, by hash"),
    created: instant,
    oldest_measured: instant.describe("Age counts from here"),
    touchstoned: z.string().max(60).describe("Version of the program"),
    signature: z
      .string()
      .regex(/^[A-Za-z0-9+/]{86}==$/)
      .describe("Ed25519 over the canonical JSON of everything else, base64"),
  })
  .describe("How many requests a device can serve at once, and what shows it");

export type Identity = z.infer<typeof identitySchema>;
export type Conditions = z.infer<typeof conditionsSchema>;
export type RawRun = z.infer<typeof rawRunSchema>;
export type Evidence = z.infer<typeof evidenceSchema>;
