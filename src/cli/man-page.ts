import { allCommands, type CommandOutline } from "./outline.ts";

/** What a man page says that no command does. */
export interface ManFacts {
  version: string;
  /** Of the day on which its words were last gone through: `2026-11-29`. */
  date: string;
  exit_codes: readonly (readonly [code: number, meaning: string])[];
  variables: readonly (readonly [name: string, meaning: string])[];
  files: readonly (readonly [path: string, meaning: string])[];
}

/**
 * A text that roff takes as it is: backslashes and dashes are special, and so is a dot or an
 * apostrophe at the beginning of a line.
 */
function roff(text: string): string {
  return text
    .replaceAll("\\", String.raw`\e`)
    .replaceAll("-", String.raw`\-`)
    .replaceAll(/^(?=[.'])/gm, String.raw`\&`)
    .replaceAll("'", String.raw`\(aq`)
    .replaceAll("`", String.raw`\(ga`)
    .replaceAll("^", String.raw`\(ha`)
    .replaceAll("~", String.raw`\(ti`);
}

function tagged(tag: string, text: string): string {
  return `.TP\n.B ${roff(tag)}\n${roff(text)}`;
}

/**
 * Help text below the options. Lines that are indented, and what stands below `Example:`, are shown as
 * they are; the others are a paragraph.
 */
function helpText(text: string): string {
  const parts: string[] = [];
  for (const paragraph of text.split(/\n\s*\n|\n(?=Exit codes?\b)/)) {
    const lines = paragraph.split("\n");
    const at = lines.findIndex((line) => line.startsWith("  "));
    const [prose, code] = at === -1 ? [lines, []] : [lines.slice(0, at), lines.slice(at)];
    if (prose.length > 0) parts.push(`.PP\n${roff(prose.join("\n"))}`);
    if (code.length > 0) {
      const shown = code.map((line) => roff(line.replace(/^ {2}/, ""))).join("\n");
      parts.push(`.RS 4\n.EX\n${shown}\n.EE\n.RE`);
    }
  }
  return parts.join("\n");
}

function optionTag({ short, long, takes }: CommandOutline["options"][number]): string {
  const names = short === null ? long : `${short}, ${long}`;
  return takes === null ? names : `${names} ${takes}`;
}

function commandPart(outline: CommandOutline): string {
  const { path, usage, about, after } = outline;
  const own = outline.options.filter(({ long }) => long !== "--help");
  return [
    `.SS ${roff(path.join(" "))}`,
    `.B ${roff(usage)}`,
    `.PP\n${roff(`${about.charAt(0).toUpperCase()}${about.slice(1)}.`)}`,
    ...outline.arguments.map(({ shown, about: text }) => tagged(shown, text)),
    ...own.map((option) => tagged(optionTag(option), option.about)),
    ...(after === "" ? [] : [helpText(after)]),
  ].join("\n");
}

function section(title: string, rows: readonly (readonly [string | number, string])[]): string {
  return [`.SH ${title}`, ...rows.map(([tag, text]) => tagged(String(tag), text))].join("\n");
}

/** touchstoned(1), in the macros that every `man` knows. */
export function manPage(outline: CommandOutline, facts: ManFacts): string {
  const commands = allCommands(outline).filter(({ commands: inner }) => inner.length === 0);
  const groups = allCommands(outline).filter(
    ({ commands: inner, path, after }) => inner.length > 0 && path.length > 0 && after !== "",
  );
  return `${[
    String.raw`.\" Made from the declarations of the commands: npm run man`,
    `.TH TOUCHSTONED 1 "${facts.date}" "touchstoned ${facts.version}" "User Commands"`,
    ".SH NAME",
    String.raw`touchstoned \- run language model benchmarks unattended, and measure what a device can serve`,
    ".SH SYNOPSIS",
    ".B touchstoned\n.I command\n[\n.I options\n]",
    ".SH DESCRIPTION",
    roff(outline.about),
    `.PP\n${roff("Files that are dropped into the inbox of a station are run one at a time, under a lock that holds for the whole machine. Each leaves a bundle of answers, times and memory, and each file a summary. What the device can serve at once is measured, signed and kept in git, and scripts are answered from it.")}`,
    `.PP\n${roff("Each command has an answer on standard output and everything else on standard error; with --json the answer is one JSON document.")}`,
    ".SH COMMANDS",
    ...[...commands, ...groups].map(commandPart),
    section("EXIT STATUS", facts.exit_codes),
    section("ENVIRONMENT", facts.variables),
    section("FILES", facts.files),
    ".SH SEE ALSO",
    ".BR flock (1),\n.BR git (1),\n.BR systemd (1)",
  ].join("\n")}\n`;
}
