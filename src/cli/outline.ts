import type { Argument, Command, Option } from "commander";

/** What may stand in the place of an argument, for those who complete it. */
export type ValueKind = "file" | "directory" | "job" | "runner" | "command" | "words" | "none";

export interface OptionOutline {
  /** `--station`, and `-h` where there is a short one. */
  long: string;
  short: string | null;
  /** `<dir>` as help shows it; null where it takes nothing. */
  takes: string | null;
  kind: ValueKind;
  about: string;
}

interface ArgumentOutline {
  /** `<file>`, `[ids...]` as help shows it. */
  shown: string;
  kind: ValueKind;
  /** What it can be, where that is known: kind `words`. */
  words: string[];
  about: string;
}

/** One command as its declaration says it; hidden ones are left out. */
export interface CommandOutline {
  /** `["queue", "run"]`; empty for the program itself. */
  path: string[];
  about: string;
  /** `touchstoned queue run [options] [file]` */
  usage: string;
  arguments: ArgumentOutline[];
  options: OptionOutline[];
  commands: CommandOutline[];
  /** What help says below the options. */
  after: string;
}

const KINDS: readonly [name: RegExp, kind: ValueKind][] = [
  [/^(?:files?|pack|config|paths?|bundle|before|after|what)$/, "file"],
  [/^dir$/, "directory"],
  [/^ids?$/, "job"],
  [/^command$/, "command"],
];

function kindOf(name: string, owner: string): ValueKind {
  if (owner === "--runner" || owner === "runner probe") return "runner";
  return KINDS.find(([known]) => known.test(name))?.[1] ?? "none";
}

function plainName(shown: string): string {
  return shown.replaceAll(/[<>[\].]/g, "");
}

function optionOutline(option: Option): OptionOutline {
  const takes = /[<[].*$/.exec(option.flags)?.[0] ?? null;
  const long = option.long ?? option.short ?? "";
  return {
    long,
    short: option.long === undefined ? null : (option.short ?? null),
    takes,
    kind: takes === null ? "none" : kindOf(plainName(takes), long),
    about: option.description,
  };
}

function argumentOutline(argument: Argument, path: readonly string[]): ArgumentOutline {
  const name = argument.name();
  const words = argument.argChoices ?? [];
  const inner = argument.variadic ? `${name}...` : name;
  return {
    shown: argument.required ? `<${inner}>` : `[${inner}]`,
    kind: words.length > 0 ? "words" : kindOf(name, path.join(" ")),
    words: [...words],
    about: argument.description,
  };
}

/** What `addHelpText("after", ...)` has put there: a listener, which its types do not show. */
function textAfter(command: Command): string {
  const events = command as unknown as { emit(event: "afterHelp", context: object): void };
  let text = "";
  const write = (part: string): void => void (text += part);
  events.emit("afterHelp", { error: false, command, write });
  return text.trim();
}

export function outlineOf(command: Command, path: readonly string[] = []): CommandOutline {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== "help");
  return {
    path: [...path],
    about: command.description(),
    usage: help.commandUsage(command),
    arguments: command.registeredArguments.map((one) => argumentOutline(one, path)),
    options: help.visibleOptions(command).map(optionOutline),
    commands: commands.map((one) => outlineOf(one, [...path, one.name()])),
    after: textAfter(command),
  };
}

/** The command itself and all below it, as `--help` orders them. */
export function allCommands(outline: CommandOutline): CommandOutline[] {
  return [outline, ...outline.commands.flatMap(allCommands)];
}
