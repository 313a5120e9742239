import { markdownTable } from "markdown-table";

/** Text from outside (a model's name, an error) as one line that cannot break a table or a page. */
export function markdownCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  return String(value)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .replaceAll("\\", "\\\\")
    .replaceAll("|", "\\|")
    .replaceAll("[", "\\[")
    .replaceAll("<", "&lt;")
    .replaceAll("`", "\\`")
    .trim();
}

/** A table of already readable cells; every cell is escaped here and nowhere else. */
export function table(
  header: readonly string[],
  rows: readonly (readonly (string | number | null | undefined)[])[],
): string {
  return markdownTable([[...header], ...rows.map((row) => row.map((cell) => markdownCell(cell)))]);
}
