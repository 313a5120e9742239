import { isoTime } from "../../core/clock.ts";
import { isAlive } from "../../core/process-table.ts";
import type { AllowedAnswer, AllowedSnapshot, EvidenceEntry } from "../../evidence/fast.ts";
import { openRequests, outboxState, type CalibrationRequest } from "../../evidence/index.ts";
import { lastAttempt, type LastAttempt } from "../calibration/last-attempt.ts";
import { stateFiles } from "../files.ts";
import { doingText, minutesText } from "../idle/snapshot.ts";
import { readSnapshot } from "../snapshot.ts";
import { livingLeases, lockStatus, type LeaseInfo } from "../../station/index.ts";

const DAY_MS = 86_400_000;

/** A piece of evidence as a person wants to see it. */
interface EvidenceLine {
  key: string;
  runner: string | null;
  model: string | null;
  recommended: number;
  max_safe: number;
  age_days: number | null;
  /** When it will be stale, RFC 3339; null where it is not believed. */
  expires: string | null;
  faults: string[];
  committed: boolean;
  /** The answer of now comes from it. */
  used: boolean;
}

export interface SlotsStatus {
  root: string;
  state_dir: string;
  /** The answer of `slots allowed`, with its reason. */
  answer: AllowedAnswer;
  evidence: EvidenceLine[];
  lock: { path: string; text: string };
  leases: LeaseInfo[];
  /** `doing`: what the daemon does about it, or why it does nothing; `last`: how it went last time. */
  requests: (CalibrationRequest & { doing: string; last: LastAttempt | null })[];
  outbox: { waiting: number; reason: string | null; tried_at: string | null };
}

function evidenceLine(
  entry: EvidenceEntry,
  about: { now_ms: number; max_age_days: number; used: string | null },
): EvidenceLine {
  const { key, identity, recommended, max_safe, faults, committed, oldest_ms } = entry;
  const believed = faults.length === 0;
  const text = (name: string): string | null => {
    const value = identity[name] ?? null;
    return value === null ? null : String(value);
  };
  return {
    key,
    runner: [text("runner.kind"), text("runner.version")].filter((part) => part !== null).join(" "),
    model: text("model.id"),
    recommended,
    max_safe,
    age_days: believed ? Math.floor((about.now_ms - oldest_ms) / DAY_MS) : null,
    expires: believed ? isoTime(oldest_ms + about.max_age_days * DAY_MS) : null,
    faults,
    committed,
    used: about.used === entry.sha256,
  };
}

/** What the daemon does about a request, or why it does nothing. */
function doingAbout({ key }: CalibrationRequest, state_dir: string): string {
  const last = readSnapshot(stateFiles(state_dir).snapshot);
  if (last === undefined || !isAlive(last.process)) return "no daemon runs that could measure it";
  const { doing = null, waiting = [] } = last.idle ?? {};
  if (doing?.key === key) return doingText(doing, minutesText);
  return waiting.find((one) => one.key === key)?.why ?? "when nothing else is to be done";
}

/** Everything about the slots of a station. Takes locks for no longer than a look. */
export async function slotsStatus(options: {
  root: string;
  state_dir: string;
  lock_path: string;
  now_ms: number;
  snapshot: AllowedSnapshot;
  answer: AllowedAnswer;
}): Promise<SlotsStatus> {
  const { root, state_dir, lock_path, now_ms, snapshot, answer } = options;
  const about = {
    now_ms,
    max_age_days: snapshot.max_age_days,
    used: answer.evidence?.sha256 ?? null,
  };
  const { text } = await lockStatus(lock_path);
  return {
    root,
    state_dir,
    answer,
    evidence: snapshot.evidence.map((entry) => evidenceLine(entry, about)),
    lock: { path: lock_path, text },
    leases: livingLeases(lock_path),
    requests: openRequests(state_dir).map((request) =>
      Object.assign(
        { doing: doingAbout(request, state_dir), last: lastAttempt(state_dir, request.key) },
        request,
      ),
    ),
    outbox: outboxState(state_dir),
  };
}

function evidenceText(line: EvidenceLine): string {
  const { key, model, runner, recommended, max_safe, age_days, expires, faults } = line;
  const what = `${key.slice(0, 8) || "(unreadable)"}  ${model ?? "?"} on ${runner ?? "?"}`;
  if (faults.length > 0) return `  ${what}: not believed: ${faults.join("; ")}`;
  const marks = [line.used ? "used" : "", line.committed ? "" : "not committed yet"];
  const marked = marks.filter((mark) => mark !== "").join(", ");
  return `  ${what}: ${recommended} (safe up to ${max_safe}), ${age_days} days old, until ${expires}${marked === "" ? "" : ` [${marked}]`}`;
}

/** For a terminal. */
export function slotsStatusText(status: SlotsStatus): string {
  const { answer, evidence, leases, requests, outbox, lock } = status;
  const lines = [`allowed: ${answer.allowed}, because ${answer.reason}`];
  for (const note of answer.notes) lines.push(`  note: ${note}`);
  if (answer.live !== null) {
    const { slots, slots_note, context_per_slot } = answer.live;
    const context = context_per_slot === null ? "" : `, ${context_per_slot} tokens each`;
    lines.push(`runner ${answer.runner ?? ""}: ${slots} slots (${slots_note})${context}`);
  }
  lines.push(`evidence: ${evidence.length === 0 ? "none" : ""}`.trimEnd());
  for (const line of evidence) lines.push(evidenceText(line));
  lines.push(`model lock: ${lock.text}`);
  lines.push(`slots in use: ${leases.length}`);
  for (const lease of leases) {
    lines.push(`  ${lease.slot}: pid ${lease.pid} (${lease.purpose}) since ${lease.since}`);
  }
  lines.push(`requests for a measurement: ${requests.length === 0 ? "none" : ""}`.trimEnd());
  for (const { model, runner, reason, requested_at, doing, last } of requests) {
    lines.push(`  ${model ?? "?"} with ${runner ?? "?"} since ${requested_at}: ${reason}`);
    if (last !== null) {
      lines.push(`    last tried ${last.at}: ${last.result.replaceAll("_", " ")}: ${last.reason}`);
    }
    lines.push(`    ${doing}`);
  }
  const why = outbox.reason === null ? "" : `, because ${outbox.reason}`;
  lines.push(`waiting to be committed: ${outbox.waiting}${why}`);
  return lines.join("\n");
}
