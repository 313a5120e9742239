import { createRequire } from "node:module";
import type * as draft7 from "ajv";
import type * as draft2020 from "ajv/dist/2020.js";

const require = createRequire(import.meta.url);

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const OPTIONS: draft7.Options = {
  // Unknown keywords are typing errors more often than not; the other strict rules are taste.
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  validateFormats: false,
  logger: false,
  addUsedSchema: false,
};

/** Ajv for the draft a schema names; 2020-12 where it names none. Loaded only when it is needed. */
function ajvFor(schema: Record<string, unknown>): draft7.Ajv {
  const draft = schema["$schema"];
  if (typeof draft === "string" && DRAFT_7.test(draft)) {
    const { Ajv } = require("ajv") as typeof draft7;
    return new Ajv(OPTIONS);
  }
  if (draft === undefined || (typeof draft === "string" && DRAFT_2020.test(draft))) {
    const { Ajv2020 } = require("ajv/dist/2020.js") as typeof draft2020;
    return new Ajv2020(OPTIONS);
  }
  throw new Error(`$schema ${JSON.stringify(draft)} is not known; use draft-07 or 2020-12`);
}

/** The first reference that leaves the schema, or undefined. */
function remoteReference(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const isReference = key === "$ref" || key === "$dynamicRef" || key === "$recursiveRef";
    if (isReference && typeof inner === "string" && !inner.startsWith("#")) return inner;
    const found = remoteReference(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Compiles a schema. The function gives null for a value that fits, else what does not fit and
 * where. Throws for a schema that is not one, or that refers to anything outside itself: nothing
 * is ever fetched.
 */
export function compileSchema(schema: Record<string, unknown>): (value: unknown) => string | null {
  const remote = remoteReference(schema);
  if (remote !== undefined) {
    throw new Error(`reference ${JSON.stringify(remote)} leaves the schema; use "#/$defs/..."`);
  }
  const validate = ajvFor(schema).compile(schema);
  return (value) => {
    if (validate(value)) return null;
    const [first] = validate.errors ?? [];
    if (first === undefined) return "the value does not fit the schema";
    const place = first.instancePath === "" ? "the value" : first.instancePath;
    return `${place} ${first.message ?? "does not fit the schema"}`;
  };
}
