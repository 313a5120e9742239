/**
 * Control characters, the ones that turn the direction of text, and line separators: what a file from
 * elsewhere could use to write over a terminal or to look like another text.
 */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const UNPRINTABLE = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** One line of text from outside as it may be shown to a person: the rest is spelled out. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * A name that is safe as one path segment: each run of characters outside `A-Z a-z 0-9 . _ -`
 * becomes one `-`, dashes and dots at the ends go, and nothing longer than 80 characters stays.
 */
export function slug(text: string): string {
  const cleaned = text
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80);
  return cleaned === "" ? "unnamed" : cleaned;
}
