export { shellQuote, shellWord } from "../../core/shell-word.ts";

/** For a unit file: `%` begins a specifier everywhere. */
export function unitText(text: string): string {
  return text.replaceAll("%", "%%");
}

/** A path among others in a unit file. */
export function unitPath(text: string): string {
  const escaped = unitText(text)
    .replaceAll("\\", "\\\\")
    .replaceAll('"', String.raw`\"`);
  return /^[\w./:@%+,-]+$/.test(text) ? escaped : `"${escaped}"`;
}

/** An argument of `ExecStart=` behind the program: there `$` begins a variable as well. */
export function unitArgument(text: string): string {
  return unitPath(text).replaceAll("$", "$$$$");
}

export function xmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A command in a crontab, where `%` ends the line unless it is escaped. */
export function cronCommand(command: string): string {
  return command.replaceAll("%", String.raw`\%`);
}
