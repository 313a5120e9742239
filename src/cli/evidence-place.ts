import { realpathSync } from "node:fs";
import { inputError } from "../core/errors.ts";
import {
  evidenceRoot,
  evidenceSchema,
  findListed,
  type Catalog,
  type Evidence,
  type Listed,
} from "../evidence/index.ts";
import { findStation } from "../station/index.ts";
import { locateState } from "../station/light.ts";
import type { CommandContext } from "./context.ts";

export interface EvidenceOptions {
  station?: string;
  json?: boolean;
}

export interface EvidencePlace {
  root: string;
  /** null in a plain clone, which has no state of its own. */
  state_dir: string | null;
}

/** The station with its state; else the directory with an evidence/ that we are in. */
export function evidencePlace(
  { station: explicit }: EvidenceOptions,
  { env, cwd }: CommandContext,
): EvidencePlace {
  const nearest = evidenceRoot(realpathSync(cwd));
  if (findStation({ explicit, env, cwd }) !== undefined) return locateState({ explicit, env, cwd });
  if (nearest !== undefined) return { root: nearest, state_dir: null };
  throw inputError(
    `neither ${cwd} nor a directory above it has an evidence/ or is a station`,
    "Go into a clone that has one, or name a station with --station DIR.",
  );
}

/** The named document with all its parts. */
export function wholeEvidence(
  catalog: Catalog,
  what: string | undefined,
): Listed & { whole: Evidence } {
  const listed = findListed(catalog, what);
  const whole = evidenceSchema.safeParse(listed.evidence);
  if (whole.success) return { ...listed, whole: whole.data };
  throw inputError(
    `${listed.path ?? listed.evidence.key}: it is signed, and is not of the form that this version knows`,
    "touchstoned evidence verify says what is different.",
  );
}
