// `npm run man`: writes man/touchstoned.1 from the declarations of the commands, as --help shows them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manPage } from "../src/cli/man-page.ts";
import { outlineOf } from "../src/cli/outline.ts";
import { buildProgram } from "../src/cli/program.ts";
import { EXIT } from "../src/core/errors.ts";

const root = join(import.meta.dirname, "..");

const MEANINGS: Record<keyof typeof EXIT, string> = {
  done: "done",
  failed: "it ran, but something failed: an entry is not ok, answers are missing, a check failed",
  usage: "usage: unknown command or option",
  refused: "refused (--strict), or not measured",
  bad_input: "bad input file: named with line, rule and what to change",
  unavailable: "the runner or the store is not there",
  busy: "busy: a lock is held; try again later",
  bad_config: "bad configuration, a station that is not trusted, or a Node that is too old",
};

const VARIABLES = [
  ["TOUCHSTONED_STATION", "the station, where --station does not say it"],
  ["TOUCHSTONED_LOCK", "path of the model lock, instead of lock_path in machine.yaml"],
  ["TOUCHSTONED_MACHINE_CONFIG", "path of machine.yaml"],
  [
    "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME, XDG_CACHE_HOME",
    "where configuration, state, a user's own station and caches are (Linux)",
  ],
] as const;

const FILES = [
  ["touchstoned.yaml", "makes a directory a station; policy, committed"],
  ["inbox/", "queue files are dropped here; inbox/done, failed and rejected have those that ended"],
  ["evidence/", "what was measured, signed, committed"],
  [
    "~/.config/touchstoned/machine.yaml",
    "runners, commands, keys and trusted stations of this machine (macOS: ~/Library/Application Support/touchstoned/)",
  ],
  [
    "~/.local/state/touchstoned/STATION/",
    "queue, runs, logs and the key of this device (macOS: as above)",
  ],
] as const;

/** The text of man/touchstoned.1. */
export function manText(): string {
  const silent = { out: () => undefined, err: () => undefined };
  const program = buildProgram(() => async () => undefined, silent);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
  };
  return manPage(outlineOf(program), {
    version,
    date: "2026-11-29",
    exit_codes: Object.entries(EXIT).map(([name, code]) => [
      code,
      MEANINGS[name as keyof typeof EXIT],
    ]),
    variables: VARIABLES,
    files: FILES,
  });
}

if (import.meta.main) {
  mkdirSync(join(root, "man"), { recursive: true });
  writeFileSync(join(root, "man", "touchstoned.1"), manText());
  process.stderr.write("man/touchstoned.1\n");
}
