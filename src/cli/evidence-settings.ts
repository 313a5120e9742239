import { TouchstonedError } from "../core/errors.ts";
import { EVIDENCE_MAX_AGE_DAYS } from "../core/slot-bounds.ts";
import { findStation, openStation } from "../station/index.ts";
import type { CommandContext } from "./context.ts";
import type { EvidenceOptions } from "./evidence-place.ts";

/** How old evidence may be here. A clone is looked at by the default, and so is a station that is wrong. */
export async function maxAgeDays(
  { station: explicit }: EvidenceOptions,
  { env, cwd, terminal }: CommandContext,
): Promise<number> {
  if (findStation({ explicit, env, cwd }) === undefined) return EVIDENCE_MAX_AGE_DAYS;
  try {
    const { settings } = await openStation({ explicit, env, cwd, read_only: true });
    return settings.evidence.max_age_days;
  } catch (error) {
    if (!(error instanceof TouchstonedError)) throw error;
    terminal.err(`warning: ${error.message}`);
    return EVIDENCE_MAX_AGE_DAYS;
  }
}
