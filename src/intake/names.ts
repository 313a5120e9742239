import { Buffer } from "node:buffer";

/** Names that editors, downloads, synchronisers and file managers make while they work. */
const TEMPORARY = [
  /^\./, // hidden; rsync, vim, emacs locks, macOS and submit's own temporary files among them
  /~$/,
  /^#.*#$/,
  /^4913$/, // vim's probe
  /^~/, // office locks and syncthing
  /\.(?:sw[a-z]|tmp|temp|part|partial|crdownload|download|filepart|bak|orig|icloud|lock)$/i,
  /\.sb-[0-9a-f]{8}-/i,
  /\.sync-conflict-/i,
  /^thumbs\.db$/i,
  /^desktop\.ini$/i,
];

/** What belongs into an inbox beside queue files. */
const OWN = new Set(["README.md", "done", "failed", "rejected", "examples"]);

const SUFFIXES = [".yaml", ".yml", ".json"] as const;

/** Longest name of a queue file, bytes of UTF-8. */
const MAX_NAME_BYTES = 200;

export type NameVerdict =
  | { kind: "candidate" }
  | { kind: "ignored" }
  | { kind: "odd"; why: string };

/** Whether a name in the inbox can be a queue file's. */
export function judgeName(name: string): NameVerdict {
  if (OWN.has(name) || TEMPORARY.some((pattern) => pattern.test(name))) return { kind: "ignored" };
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001F\u007F]/.test(name)) {
    return { kind: "odd", why: "its name has control characters; rename it" };
  }
  // What is not UTF-8 reads so, and a name that reads so can be opened by nobody.
  if (name.includes("\uFFFD")) return { kind: "odd", why: "its name is not UTF-8; rename it" };
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    return { kind: "odd", why: `its name is longer than ${MAX_NAME_BYTES} bytes; rename it` };
  }
  const lower = name.toLowerCase();
  if (!SUFFIXES.some((suffix) => lower.endsWith(suffix))) {
    return { kind: "odd", why: `queue files end in ${SUFFIXES.join(", ")}; move or rename it` };
  }
  return { kind: "candidate" };
}

/** Names that are the same one on a file system that folds case or normalises. */
export function twinKey(name: string): string {
  return name.normalize("NFC").toLowerCase().normalize("NFC");
}

/** File systems allow 255 bytes; before the name stand a time and a ULID, after it `.reason.json`. */
const MAX_PLACED_BYTES = 255 - "2026-11-29T13-40-35Z-".length - 27 - ".reason.json".length - 8;

/** The name, cut in the middle where it is too long to be put after a time and an id. */
export function fitName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_PLACED_BYTES) return name;
  const dot = name.lastIndexOf(".");
  const suffix = dot < 0 ? "" : name.slice(dot);
  let stem = name.slice(0, name.length - suffix.length);
  while (Buffer.byteLength(stem) + suffix.length > MAX_PLACED_BYTES) {
    // Both halves of a character that JavaScript keeps as two.
    stem = stem.replace(/(?:[\uD800-\uDBFF][\uDC00-\uDFFF]|[^])$/, "");
  }
  return stem + suffix;
}
