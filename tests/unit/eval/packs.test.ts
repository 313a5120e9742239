import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runChecks } from "../../../src/eval/checks.ts";
import { loadPack } from "../../../src/eval/pack-file.ts";
import { promptsOf } from "../../../src/eval/quality.ts";

function pack(path: string) {
  return loadPack(fileURLToPath(new URL(`../../../${path}`, import.meta.url))).pack;
}

describe("the packs that ship", () => {
  const office = pack("packs/office-basics.yaml");

  test("office-basics shows what a pack can say", () => {
    expect(office.prompt_variants.map(({ id }) => id)).toEqual(["baseline", "none"]);
    expect(office.ko_rule).toMatchObject({ dimension: "care", red_flag_scope: "curated" });
    expect(promptsOf(office).length).toBeGreaterThanOrEqual(12);
    const kinds = promptsOf(office).flatMap(({ prompt }) => prompt.checks.flatMap(Object.keys));
    expect(new Set(kinds.filter((kind) => kind !== "flags"))).toEqual(
      new Set(["contains", "regex", "json_schema", "max_words", "equals"]),
    );
  });

  test.each([
    ["net-price", "200.00 €", "192.78 €"],
    ["to-json", '{"name":"Kick-off Harbour","date":"2026-03-03","attendees":8}', '{"name":"x"}'],
    ["sort-names", "Lin Adams\nOmar Baker\nEva Moss\nAda Young\n", "Ada Young\nOmar Baker"],
    ["steps", "1. Open\n2. Look\n3. Book\n4. Tell", "1. Open\n2. Book"],
    ["table-total", "135.00", "134.00"],
    ["working-days", "12 / (3 x 4) = 1 week", "3 weeks"],
    ["subject-line", "Budget meeting Thursday moved to 14:00", "Meeting moved"],
  ])(
    "checks of %s tell a good answer from a bad one",
    { timeout: 60_000 },
    async (id, good, bad) => {
      const prompt = promptsOf(office).find((entry) => entry.prompt.id === id)?.prompt;
      const passed = async (text: string) =>
        (await runChecks(prompt?.checks ?? [], text)).every((result) => result.passed === true);
      expect(await passed(good)).toBe(true);
      expect(await passed(bad)).toBe(false);
    },
  );

  test("plumbing is small enough for a first try and big enough for a report", () => {
    const prompts = promptsOf(pack("packs/plumbing.yaml")).map(({ prompt }) => prompt);
    expect(prompts.length).toBeGreaterThanOrEqual(3);
    expect(prompts.length).toBeLessThanOrEqual(6);
    expect(prompts.every(({ max_tokens }) => max_tokens !== null && max_tokens <= 24)).toBe(true);
  });
});

describe("a pack of another program of this format", () => {
  test("loads, with the defaults of the format", () => {
    const garden = pack("tests/fixtures/packs/garden-club.yaml");
    expect(garden).toMatchObject({
      id: "garden-club",
      version: 4,
      scale: { 1: "misleads the visitor", 5: "helps and delights" },
      dimensions: [{ weight: 3 }, { weight: 2 }, { id: "G3", weight: 1 }],
      sampling: { temperature: 0, seed: 42 },
    });
    const [first, second] = promptsOf(garden).map(({ prompt }) => prompt);
    expect(first).toMatchObject({ repeats: 1, safety_critical: false, checks: [] });
    expect(second).toMatchObject({ max_tokens: null, repeats: 3, safety_critical: true });
  });
});
