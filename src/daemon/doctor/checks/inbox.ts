import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonLenient } from "../../../core/json.ts";
import { printable } from "../../../core/text.ts";
import type { StationStatus } from "../../status.ts";
import { counted, failure, ok, span, warning, type Line } from "../line.ts";

export interface InboxInput {
  inbox: string;
  status: Pick<StationStatus, "inbox" | "inbox_blocked" | "daemon">;
  now_ms: number;
  rejected: readonly Rejected[];
  /** Why nothing that is dropped there may start work; null where it may. */
  distrust: string | null;
}

export interface Rejected {
  file: string;
  rejected_ms: number;
  message: string;
  what_to_do: string;
}

/** Longer ago, and somebody has seen it. */
const RECENT_MS = 24 * 3_600_000;
const NAMED = 3;

/** What of `rejected/` was put there lately, newest first; what cannot be read is left out. */
export function recentlyRejected(inbox: string, now_ms: number): Rejected[] {
  const folder = join(inbox, "rejected");
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".reason.json"));
  } catch {
    return [];
  }
  const found = names.flatMap((name): Rejected[] => {
    try {
      const value = parseJsonLenient(readFileSync(join(folder, name), "utf8"));
      const { file, rejected_at, message, what_to_do } = value as Record<string, unknown>;
      const rejected_ms = Date.parse(String(rejected_at));
      if (!(now_ms - rejected_ms < RECENT_MS)) return [];
      return [
        {
          file: String(file),
          rejected_ms,
          message: String(message),
          what_to_do: String(what_to_do),
        },
      ];
    } catch {
      return [];
    }
  });
  return found.sort((a, b) => b.rejected_ms - a.rejected_ms);
}

function rejectedLines({ rejected, now_ms }: InboxInput): Line[] {
  const lines = rejected.slice(0, NAMED).map(({ file, rejected_ms, message, what_to_do }) => {
    const [first = ""] = message.split("\n");
    return warning(
      `${printable(file)} was rejected ${span(now_ms - rejected_ms)} ago: ${printable(first)}`,
      printable(what_to_do),
    );
  });
  const more = rejected.length - NAMED;
  if (more > 0) {
    lines.push(
      warning(
        `${counted(more, "more file was", "more files were")} rejected in the last day`,
        "The reasons lie beside them in inbox/rejected/.",
      ),
    );
  }
  return lines;
}

/** What waits in the inbox, what cannot be taken up, and what was refused lately. */
export function inboxLines(input: InboxInput): Line[] {
  const { inbox, status } = input;
  const stats = lstatSync(inbox, { throwIfNoEntry: false });
  if (stats === undefined) {
    return [
      warning(
        `there is no ${inbox}`,
        "touchstoned init makes it; so does the daemon when it starts.",
      ),
    ];
  }
  const blocked = status.inbox_blocked ?? input.distrust;
  if (blocked !== null) {
    return [
      failure(
        `nothing is taken up from the inbox: ${blocked}`,
        "Do what it says; the daemon looks again within a minute.",
      ),
    ];
  }
  const stuck = status.inbox.filter((file) => file.stuck !== null);
  const lines = stuck
    .slice(0, NAMED)
    .map(({ name, stuck: why }) =>
      warning(
        `${printable(name)} is not taken up: ${why ?? ""}`,
        "It stays where it is until you rename it or move it away.",
      ),
    );
  lines.push(...rejectedLines(input));
  if (lines.length > 0) return lines;
  const waiting = status.inbox.length;
  return [
    ok(waiting === 0 ? "nothing waits in the inbox" : `${counted(waiting, "file")} to be taken up`),
  ];
}
