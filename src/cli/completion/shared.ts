import {
  allCommands,
  type CommandOutline,
  type OptionOutline,
  type ValueKind,
} from "../outline.ts";

/** What a command line up to here can go on with. */
export interface Place {
  /** `queue run`; empty at the beginning. */
  at: string;
  commands: { name: string; about: string }[];
  options: OptionOutline[];
  /** Of the first argument: the others are of its kind. */
  kind: ValueKind;
  words: string[];
}

export function placesOf(outline: CommandOutline): Place[] {
  return allCommands(outline).map(({ path, commands, options, arguments: [first] }) => ({
    at: path.join(" "),
    commands: commands.map(({ path: inner, about }) => ({ name: inner.at(-1) ?? "", about })),
    options,
    kind: first?.kind ?? "none",
    words: first?.words ?? [],
  }));
}

/** Options that take a value, by what may stand there: the word after one is no command. */
export function valueOptions(place: Place): { names: string[]; kind: ValueKind }[] {
  return place.options
    .filter(({ takes }) => takes?.startsWith("<"))
    .map(({ long, short, kind }) => ({ names: short === null ? [long] : [short, long], kind }));
}

/** Prints names one a line, from the program's own JSON, without a JSON parser. */
export const JOBS = `touchstoned queue list --json 2>/dev/null | sed -n 's/^ *"id": "\\([0-9A-Z]\\{26\\}\\)",*$/\\1/p'`;
export const RUNNERS = `touchstoned runner list --json 2>/dev/null | sed -n 's/^ *"name": "\\([A-Za-z0-9._-]*\\)",*$/\\1/p'`;
