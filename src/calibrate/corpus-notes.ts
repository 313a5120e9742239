import { canonicalJson, sha256Hex } from "../core/json.ts";
import { SEGMENTS_FOR_FIDELITY, type CorpusSegment } from "./corpus-schema.ts";

interface Drawn {
  segments: readonly CorpusSegment[];
  labels: readonly string[];
  /** Turns of the pool, segments drawn and segments meant, by stratum. */
  turns: readonly number[];
  drawn: readonly number[];
  quota: readonly number[];
  options: { min_per_stratum: number; allow_shared_prefix: boolean };
}

function sharedBeginnings(segments: readonly CorpusSegment[]): number {
  const seen = new Map<string, number>();
  for (const { turns } of segments) {
    const first = sha256Hex(canonicalJson(turns[0]?.messages[0]));
    seen.set(first, (seen.get(first) ?? 0) + 1);
  }
  return [...seen.values()].filter((n) => n > 1).reduce((sum, n) => sum + n, 0);
}

/** What a reader of numbers that were measured on this corpus should know. */
export function drawNotes(parts: Drawn): string[] {
  const { segments, labels, turns, drawn, quota, options } = parts;
  const notes = [
    "turns are replayed from their recorded history, without pauses: no think time, and no answer " +
      "goes into the next prompt",
  ];
  if (segments.length < SEGMENTS_FOR_FIDELITY) {
    notes.push(
      `${segments.length} segments; a fidelity verdict needs ${SEGMENTS_FOR_FIDELITY}, so no ` +
        "number above 1 can be proven with this corpus",
    );
  }
  for (const [i, label] of labels.entries()) {
    const [have = 0, meant = 0, of = 0] = [drawn[i], quota[i], turns[i]];
    if (of === 0) continue;
    if (have === 0) {
      notes.push(`stratum ${label}: ${of} turns of the pool, but no segment begins there`);
    } else if (have < Math.min(meant, options.min_per_stratum)) {
      notes.push(`stratum ${label}: only ${have} segments, ${meant} were meant`);
    }
  }
  if (options.allow_shared_prefix) {
    notes.push("segments may share the beginning of one conversation: they are not independent");
  }
  const shared = sharedBeginnings(segments);
  if (shared > 0) {
    notes.push(
      `${shared} of ${segments.length} segments begin with a message that another one begins with, ` +
        "such as a common system prompt",
    );
  }
  return notes;
}
