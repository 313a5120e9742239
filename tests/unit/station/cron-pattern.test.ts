import { expect, test } from "vitest";
import { cronFault } from "../../../src/station/cron-pattern.ts";

test.each([
  "* * * * *",
  "* 0-6 * * *",
  "*/5 22-23,0-5 * * 1-5",
  "0 3 1,15 * *",
  "* 1 * JAN-mar mon,Fri",
  "  30  2 L * * ",
  "0-59/10 * * * 7",
])("%s is a pattern", (pattern) => {
  expect(cronFault(pattern)).toBeNull();
});

test.each([
  ["* * * *", "five fields"],
  ["0 * * * * *", "five fields"],
  ["", "five fields"],
  ["60 * * * *", '"60" is no minute (0 to 59'],
  ["* 24 * * *", '"24" is no hour'],
  ["* * 0 * *", "day of the month"],
  ["* * * 13 *", "month"],
  ["* * * jam *", '"jam" is no month'],
  ["* * * * 8", "weekday"],
  ["* 6-0 * * *", '"6-0" is no hour'],
  ["* 1-2-3 * * *", "hour"],
  ["*/0 * * * *", "minute"],
  ["*/ * * * *", "minute"],
  ["*/5/5 * * * *", "minute"],
  ["1, * * * *", "minute"],
  ["-1 * * * *", "minute"],
])("%s is none: %s", (pattern, said) => {
  expect(cronFault(pattern)).toContain(said);
});
