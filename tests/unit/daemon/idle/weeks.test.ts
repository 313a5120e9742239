import { expect, test } from "vitest";
import { Weeks } from "./weeks.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEKS = 10;

/** The most attempts that were begun within an hour. */
function mostInAnHour(times: readonly number[]): number {
  const within = (from: number): number =>
    times.filter((at) => at >= from && at < from + HOUR_MS).length;
  return Math.max(0, ...times.map(within));
}

/** What a person would find odd in a diary; empty where it reads well. */
function oddities(diary: readonly string[]): string[] {
  const odd: string[] = [];
  let open: string | null = null;
  let before = "";
  for (const line of diary) {
    const said = /^\d{4}-\d\d-\d\dT\d\d:\d\d [A-Z][a-z]{2} {2}(\S.*\S)$/.exec(line)?.[1];
    if (said === undefined || said.length > 200) odd.push(`no line of a diary: ${line}`);
    const text = said ?? "";
    const repeated =
      text === before && !/^(asked for|slept|clock|the daemon|dropped|a person)/.test(text);
    if (repeated) odd.push(`said twice: ${line}`);
    if (/undefined|null|NaN|\[object/.test(text)) odd.push(`not for a person: ${line}`);
    if (/^measuring slots of .* (begins|goes on)/.test(text)) {
      if (open !== null) odd.push(`another one begins: ${line}`);
      open = line;
    } else if (/^(warning: )?slots of .*(best|gave way|not measured|cut off)/.test(text))
      open = null;
    else if (text === "the machine reboots") open = null;
    else if (open !== null && /^job .* begins$/.test(text)) odd.push(`a job beside it: ${line}`);
    before = text;
  }
  return odd;
}

/** Every so often a line, as a person would leaf through it. */
function excerpt(diary: readonly string[], lines: number): string {
  return diary.slice(0, lines).join("\n");
}

test.each([1, 20_260_907, 77])("ten weeks, seed %i", { timeout: 240_000 }, async (seed) => {
  const weeks = new Weeks(seed);
  await weeks.live(WEEKS);
  const { diary, jobs, answered, begun, rounds, happened, longest_wait_ms } = weeks;
  const minutes = weeks.clock.monotonic_ms() / MINUTE_MS;
  console.error(
    `[tests] ${jobs.length} jobs, ${answered.length} measurements, ${begun.length} begun`,
  );
  if (seed === 1) console.error(`${excerpt(diary, 40)}\n[...] ${diary.length} lines in all`);

  // Each job ends once, each request is answered, and none waits for ever.
  expect(weeks.rests).toBe(true);
  expect(jobs.length).toBeGreaterThan(50);
  expect(jobs.filter(({ ends }) => ends !== 1)).toEqual([]);
  expect(answered.length).toBeGreaterThanOrEqual(3);
  expect(Math.max(...answered.map(({ open_ms }) => open_ms))).toBeLessThan(6 * DAY_MS);
  // A job waits for one step, which takes at most a quarter of an hour here.
  expect(longest_wait_ms).toBeLessThanOrEqual(16 * MINUTE_MS);

  // No stampede, and no spin: about a round a minute, and one for each thing that happens.
  expect(mostInAnHour(begun)).toBeLessThanOrEqual(6);
  expect(begun.length).toBeLessThan(12 * answered.length + happened / 20);
  expect(rounds).toBeLessThan(1.3 * minutes + 20 * happened);

  // Evidence is asked for before it is stale, so no script ever finds a stale one.
  const reasons = answered.map(({ reason }) => reason);
  expect(reasons).toContain("its evidence will be stale in a few days");
  expect(reasons).not.toContain("its evidence is stale");
  expect(
    reasons.filter((reason) => reason.startsWith("the runner was")).length,
  ).toBeLessThanOrEqual(weeks.upgrades.length);

  // The log reads like a diary.
  expect(oddities(diary)).toEqual([]);
  expect(diary.length / (WEEKS * 7)).toBeLessThan(25);
  for (const told of ["slept about", "clock set back", "clock set forward", "goes on after"]) {
    expect(diary.some((line) => line.includes(told))).toBe(true);
  }
});
