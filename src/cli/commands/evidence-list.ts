import { EXIT } from "../../core/errors.ts";
import { freshness, outboxState, readCatalog, type Listed } from "../../evidence/index.ts";
import type { CommandAction, CommandContext } from "../context.ts";
import { evidencePlace, type EvidenceOptions } from "../evidence-place.ts";
import { columns } from "../queue-text.ts";
import { maxAgeDays } from "../evidence-settings.ts";

export interface EvidenceListOptions extends EvidenceOptions {
  all?: boolean;
}

function stateText(listed: Listed, now_ms: number, max_age_days: number): string {
  const { fresh, age_days, reason } = freshness(listed.evidence, now_ms, max_age_days);
  if (!listed.newest) return "superseded";
  if (!fresh) return `stale: ${reason ?? ""}`;
  const days = Math.floor(age_days ?? 0);
  return days === 0 ? "fresh, of today" : `fresh, ${days} ${days === 1 ? "day" : "days"} old`;
}

function row(listed: Listed, now_ms: number, max_age_days: number): string[] {
  const { evidence, device, own, places } = listed;
  return [
    evidence.created.slice(0, 16).replace("T", " "),
    own ? `${device} (this)` : device,
    evidence.identity.model.id,
    evidence.identity.runner.kind,
    String(evidence.verdict.recommended),
    String(evidence.verdict.max_safe),
    evidence.key.slice(0, 8),
    stateText(listed, now_ms, max_age_days) +
      (places.includes("outbox") ? "; not committed yet" : ""),
  ];
}

function jsonOf(listed: Listed, now_ms: number, max_age_days: number): Record<string, unknown> {
  const { evidence, path, places, device, own, newest } = listed;
  const { key, created, oldest_measured, identity, verdict } = evidence;
  return {
    key,
    path,
    places,
    device,
    own,
    newest,
    created,
    oldest_measured,
    model: identity.model.id,
    runner: identity.runner.kind,
    recommended: verdict.recommended,
    max_safe: verdict.max_safe,
    ...freshness(evidence, now_ms, max_age_days),
    committed: !places.includes("outbox"),
  };
}

export const run: CommandAction<EvidenceListOptions> = async (options, context: CommandContext) => {
  const { terminal, clock } = context;
  const place = evidencePlace(options, context);
  const max_age_days = await maxAgeDays(options, context);
  const { listed, refused } = readCatalog(place.root, place.state_dir);
  const shown = options.all === true ? listed : listed.filter(({ newest }) => newest);
  const now_ms = clock.now_ms();
  const outbox = place.state_dir === null ? null : outboxState(place.state_dir);
  if (options.json === true) {
    const evidence = shown.map((entry) => jsonOf(entry, now_ms, max_age_days));
    terminal.json({ evidence, refused, outbox });
    return EXIT.done;
  }
  const believed = refused.length === 0 ? "" : " that can be believed";
  if (shown.length === 0) {
    terminal.out(`no evidence${believed} (touchstoned slots calibrate makes some)`);
  } else {
    const header = ["created (UTC)", "device", "model", "runner", "slots", "safe", "key", ""];
    const rows = shown.map((entry) => row(entry, now_ms, max_age_days));
    terminal.out(columns([header, ...rows]));
  }
  const hidden = listed.length - shown.length;
  if (hidden > 0) terminal.err(`${hidden} superseded (--all shows them)`);
  for (const { path, fault } of refused) terminal.err(`not believed: ${path}: ${fault}`);
  if (outbox !== null && outbox.waiting > 0) {
    const why = outbox.reason === null ? "" : `: ${outbox.reason}`;
    terminal.err(`not committed yet: ${outbox.waiting}${why}`);
  }
  return EXIT.done;
};
