import { EXIT } from "../../core/errors.ts";
import { evidenceMarkdown, evidencePath, freshness, readCatalog } from "../../evidence/index.ts";
import type { CommandAction } from "../context.ts";
import { evidencePlace, wholeEvidence, type EvidenceOptions } from "../evidence-place.ts";
import { maxAgeDays } from "../evidence-settings.ts";

export interface EvidenceShowOptions extends EvidenceOptions {
  what?: string;
}

export const run: CommandAction<EvidenceShowOptions> = async (options, context) => {
  const { terminal, clock } = context;
  const { root, state_dir } = evidencePlace(options, context);
  const { whole, path, places } = wholeEvidence(readCatalog(root, state_dir), options.what);
  if (options.json === true) {
    terminal.json(whole);
    return EXIT.done;
  }
  const place = path ?? `${evidencePath(whole)}.json`;
  const picture =
    place
      .split("/")
      .at(-1)
      ?.replace(/\.json$/, ".svg") ?? "";
  terminal.out(evidenceMarkdown(whole, picture).trimEnd());
  const { reason } = freshness(whole, clock.now_ms(), await maxAgeDays(options, context));
  terminal.err(places.includes("work tree") ? place : `${place} (not in the work tree)`);
  if (places.includes("outbox")) terminal.err("not committed yet");
  if (reason !== null) terminal.err(`stale: ${reason}`);
  return EXIT.done;
};
