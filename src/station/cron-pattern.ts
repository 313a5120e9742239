import { z } from "zod";

interface Field {
  name: string;
  least: number;
  most: number;
  words: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: "minute", least: 0, most: 59, words: [] },
  { name: "hour", least: 0, most: 23, words: [] },
  { name: "day of the month", least: 1, most: 31, words: ["l"] },
  {
    name: "month",
    least: 1,
    most: 12,
    words: "jan feb mar apr may jun jul aug sep oct nov dec".split(" "),
  },
  { name: "weekday", least: 0, most: 7, words: "sun mon tue wed thu fri sat".split(" ") },
];

/** A number of the field, in digits or as a word; NaN where it is none. */
function valueOf(text: string, { least, most, words }: Field): number {
  if (words.includes(text.toLowerCase())) return words.indexOf(text.toLowerCase()) + least;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : Number.NaN;
}

function isPart(part: string, field: Field): boolean {
  const [range = "", step, ...more] = part.split("/");
  if (more.length > 0 || (step !== undefined && !/^[1-9]\d*$/.test(step))) return false;
  if (range === "*") return true;
  const ends = range.split("-").map((text) => valueOf(text, field));
  const [from = Number.NaN, to = from] = ends;
  return ends.length <= 2 && from <= to;
}

/** What is wrong with a cron pattern of five fields; null where nothing is. */
export function cronFault(pattern: string): string | null {
  const fields = pattern.trim().split(/\s+/);
  if (fields.length !== FIELDS.length) {
    return "must have five fields: minute, hour, day of the month, month, weekday";
  }
  for (const [index, field] of FIELDS.entries()) {
    const text = fields[index] ?? "";
    if (text.split(",").every((part) => isPart(part, field))) continue;
    return `"${text}" is no ${field.name} (${field.least} to ${field.most}, *, a-b, a,b, */n)`;
  }
  return null;
}

/** Minutes by the local clock, as cron writes them: `* 0-6 * * *`, `* 22-23,0-5 * * 1-5`. */
export const cronPattern = z.string().superRefine((pattern, issue) => {
  const message = cronFault(pattern);
  if (message !== null) issue.addIssue({ code: "custom", message });
});
