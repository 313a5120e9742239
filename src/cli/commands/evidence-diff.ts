import { EXIT } from "../../core/errors.ts";
import { compareEvidence, comparisonText, readCatalog } from "../../evidence/index.ts";
import type { CommandAction } from "../context.ts";
import { evidencePlace, wholeEvidence, type EvidenceOptions } from "../evidence-place.ts";

export interface EvidenceDiffOptions extends EvidenceOptions {
  before: string;
  after?: string;
}

export const run: CommandAction<EvidenceDiffOptions> = async (options, context) => {
  const { root, state_dir } = evidencePlace(options, context);
  const catalog = readCatalog(root, state_dir);
  const before = wholeEvidence(catalog, options.before);
  const after = wholeEvidence(catalog, options.after);
  const comparison = compareEvidence(before.whole, after.whole);
  if (options.json === true) context.terminal.json(comparison);
  else context.terminal.out(comparisonText(comparison).join("\n"));
  return EXIT.done;
};
