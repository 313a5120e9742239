import { hostname, userInfo } from "node:os";
import { basename } from "node:path";
import { EXIT, TouchstonedError } from "../core/errors.ts";
import type { Env } from "../station/index.ts";
import type { Sweep } from "../verdict/index.ts";

/** What must not get into a file that is committed and pushed. */
export interface PrivateThings {
  user: string | null;
  home: string | null;
  host: string | null;
  /** Texts of the prompts that were sent. */
  prompts: readonly string[];
}

/** Of this process's user and machine. */
export function privateThings(env: Env, prompts: readonly string[] = []): PrivateThings {
  let user = env["USER"] ?? env["LOGNAME"] ?? null;
  let home = env["HOME"] ?? null;
  try {
    const info = userInfo();
    user ??= info.username;
    home ??= info.homedir;
  } catch {
    // A user without an entry of its own (a container) has no name that could leak.
  }
  return { user, home, host: hostname().split(".", 1)[0] ?? null, prompts };
}

/**
 * A path of the file system, or a URL of a file: at least two names deep, so that `tokens/s`, `n/a`
 * and a model's `org/name` are none.
 */
const PATH =
  /(?:file:\/\/|(?<![\w.:/-])(?:~|[A-Za-z]:(?=[\\/]))?)(?:[\\/][\w.@+ -]*[\w.@+-]){2,}[\\/]?/g;

/**
 * Names of the system are what the maker or the distribution calls them; they are full of words that
 * are somebody's name, too. Only whole paths are looked for there.
 */
const SYSTEM_NAMES = new Set(["hardware", "processor", "os_release", "accelerators", "kind"]);
const HEX = /^[0-9a-f]{16,}$/;
/** Shorter names are parts of too many words to mean a person. */
const MIN_NAME = 3;

interface Place {
  path: string;
  text: string;
  system: boolean;
}

function* strings(value: unknown, path: string, system: boolean): Generator<Place> {
  if (typeof value === "string") {
    if (!HEX.test(value)) yield { path, text: value, system };
  } else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const inside = path === "" ? key : `${path}.${key}`;
      // The keys of records (`unavailable`) are ours, as all other keys are.
      yield* strings(inner, inside, system || SYSTEM_NAMES.has(key));
    }
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function nameTest(name: string | null): RegExp | null {
  if (name === null || name.length < MIN_NAME) return null;
  return new RegExp(`(?<![A-Za-z0-9])${escaped(name)}(?![A-Za-z0-9])`, "i");
}

/** So many words in a row, the same in a document and in a prompt, are no accident. */
const RUN_OF_WORDS = 6;

function* wordRuns(text: string): Generator<string> {
  const words = text.split(/\s+/).filter((word) => word !== "");
  for (let at = 0; at + RUN_OF_WORDS <= words.length; at += 1) {
    yield words.slice(at, at + RUN_OF_WORDS).join(" ");
  }
}

function promptFaults(places: readonly Place[], prompts: readonly string[]): string[] {
  const ours = new Map<string, string>();
  for (const { path, text } of places) for (const run of wordRuns(text)) ours.set(run, path);
  const found = new Set<string>();
  for (const prompt of prompts) {
    for (const run of wordRuns(prompt)) {
      const path = ours.get(run);
      if (path !== undefined) found.add(`${path}: words of a prompt`);
    }
  }
  return [...found];
}

/** What in a document names a person, a host or a path, or repeats a prompt; empty where nothing. */
export function privacyFaults(document: unknown, things: PrivateThings): string[] {
  const places = [...strings(document, "", false)];
  const faults: string[] = [];
  const [user, host] = [nameTest(things.user), nameTest(things.host)];
  for (const { path, text, system } of places) {
    const home = things.home !== null && things.home.length > 1 && text.includes(things.home);
    if (home || text.match(PATH) !== null) faults.push(`${path}: a path`);
    else if (!system && user?.test(text) === true) faults.push(`${path}: the user's name`);
    else if (!system && host?.test(text) === true) faults.push(`${path}: the host's name`);
  }
  return [...faults, ...promptFaults(places, things.prompts)];
}

/** A message of another program without what must not be committed: paths, user, host. */
export function withoutPrivateThings(text: string, things: PrivateThings): string {
  let clean = text;
  if (things.home !== null && things.home.length > 1)
    clean = clean.replaceAll(things.home, "/home/x");
  clean = clean.replaceAll(PATH, (path) => `<${basename(path.trim())}>`);
  for (const [name, mark] of [
    [things.user, "<user>"],
    [things.host, "<host>"],
  ] as const) {
    const test = nameTest(name);
    if (test !== null) clean = clean.replaceAll(new RegExp(test, "gi"), mark);
  }
  return clean;
}

/** Fields of a sweep that hold what other programs said; everything else in it is ours. */
const SAID = new Set([
  "failure",
  "reason",
  "lost",
  "ended",
  "stop",
  "note",
  "notes",
  "unavailable",
]);

function cleaned(value: unknown, said: boolean, things: PrivateThings): unknown {
  if (typeof value === "string") return said ? withoutPrivateThings(value, things) : value;
  if (Array.isArray(value)) return value.map((item) => cleaned(item, said, things));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    return [key, cleaned(inner, said || SAID.has(key), things)] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * A sweep whose messages of other programs name no path, user and host any more: hours of measuring
 * must not be lost to what a server wrote into an error.
 */
export function cleanSweep(sweep: Sweep, things: PrivateThings): Sweep {
  return cleaned(sweep, false, things) as Sweep;
}

/** Throws (1) where the document holds what must not be committed. */
export function refusePrivate(document: unknown, things: PrivateThings): void {
  const faults = privacyFaults(document, things);
  if (faults.length === 0) return;
  throw new TouchstonedError({
    code: "evidence_private",
    exitCode: EXIT.failed,
    message: `this evidence is not written, since it would be committed with ${faults.slice(0, 3).join("; ")}`,
    hint: "Give the model, the runner and the corpus names without paths, users and hosts.",
  });
}
