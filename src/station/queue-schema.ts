import { z } from "zod";
import { readCron } from "../core/cron.ts";

/** A pattern that is impossible is an error of the file, and not a wait without end. */
export const cronPattern = z
  .string()
  .superRefine((text, issue) => {
    const reading = readCron(text);
    if (!reading.ok) issue.addIssue({ code: "custom", message: reading.message });
  })
  .describe("Cron pattern of five fields, in local time");

export const queueSchema = z
  .strictObject({
    window: cronPattern
      .optional()
      .describe("Minutes in which jobs may start, as a cron pattern; any where left out"),
  })
  .describe("When jobs may start");

/** Longer than a week nobody remembers what should have happened. */
const MOST_CATCH_UP_HOURS = 168;

const fileInStation = z
  .string()
  .min(1)
  .superRefine((path, issue) => {
    const say = (message: string): void => {
      issue.addIssue({ code: "custom", message });
    };
    if (path.startsWith("/") || path.includes("\\") || path.includes("\0")) {
      say("must be a path inside the station, relative to it");
    } else if (path.split("/").includes("..")) say("must not lead out of the station by ..");
    else if (/^(?:\.\/)?inbox\//.test(path)) say("must not lie in inbox/: it would be run at once");
    else if (!/\.(?:yaml|yml|json)$/i.test(path)) say("must end in .yaml, .yml or .json");
  });

const scheduledSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, {
      error: "must be letters, digits, dashes and underscores, at most 64",
    })
    .describe("How the file is called in the inbox, less its ending"),
  at: cronPattern.describe("When it is dropped: a cron pattern of five fields, in local time"),
  file: fileInStation.describe("Queue file inside the station"),
  catch_up_hours: z
    .number()
    .min(0)
    .max(MOST_CATCH_UP_HOURS)
    .default(24)
    .describe("A time that was missed is caught up once within so many hours"),
});

export const scheduleSchema = z
  .array(scheduledSchema)
  .superRefine((entries, issue) => {
    for (const [index, { name }] of entries.entries()) {
      if (entries.findIndex((other) => other.name === name) === index) continue;
      const message = `another entry is called "${name}", too`;
      issue.addIssue({ code: "custom", message, path: [index, "name"] });
    }
  })
  .describe("Queue files that are dropped into the inbox at their times");

export type Scheduled = z.output<typeof scheduledSchema>;
