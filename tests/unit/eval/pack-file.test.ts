import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sha256Hex } from "../../../src/core/json.ts";
import { loadPack, parsePack } from "../../../src/eval/pack-file.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { PACK } from "./fakes.ts";

/** The message of what is thrown for a pack that was changed at one place. */
function refusal(change: (text: string) => string): string {
  const text = change(PACK);
  expect(text).not.toBe(PACK);
  try {
    parsePack(text, "p.yaml");
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the pack was taken");
}

/** The pack with one safety prompt that a KO rule of that scope does not list. */
function unsafe(scope: string) {
  return (text: string) =>
    `${text.replace("prompt: Say more.", "prompt: Say more., safety_critical: true")}
ko_rule: { dimension: d, red_flag_scope: ${scope}, red_flag_prompts: [a1] }
`;
}

describe("loadPack", () => {
  test("gives the pack with the bytes and the hash it was read from", () => {
    const path = join(tempDir(), "p.yaml");
    writeFileSync(path, PACK);
    const { pack, text, sha256 } = loadPack(path);
    expect(text).toBe(PACK);
    expect(sha256).toBe(sha256Hex(PACK));
    expect(pack.categories[0]?.prompts[1]).toMatchObject({
      id: "a2",
      repeats: 2,
      max_tokens: null,
    });
    expect(pack.scale["5"]).toBe("excellent");
  });

  test("a pack that leaves out what may be left out", () => {
    const minimal = `
id: p
title: P
scale: { 1: a, 2: b, 3: c, 4: d, 5: e }
dimensions: [{ id: d, name: D }]
categories: [{ id: A, name: A, prompts: [{ id: x, prompt: hi }] }]
`;
    expect(parsePack(minimal, "p").pack).toMatchObject({
      version: 1,
      sampling: { temperature: 0, seed: 42 },
      prompt_variants: [{ id: "none", system_prompt: null }],
    });
  });

  test("names a file that is not there", () => {
    expect(() => loadPack("/nowhere/p.yaml")).toThrow("/nowhere/p.yaml: no such pack");
  });
});

describe("rules that no schema can say, each with its line", () => {
  test("one id for two prompts, in whatever category", () => {
    expect(refusal((text) => text.replace("id: b1", "id: a1"))).toMatch(
      /^p\.yaml:20:15: categories\.1\.prompts\.0\.id: prompt id "a1" is there twice/,
    );
  });

  test("one id for two variants, for two dimensions", () => {
    expect(refusal((text) => text.replace("id: terse", "id: none"))).toMatch(
      /^p\.yaml:9:\d+: prompt_variants\.1\.id: variant "none" is there twice/,
    );
    expect(
      refusal((text) =>
        text.replace("[{ id: d, name: D }]", "[{ id: d, name: D }, { id: d, name: E }]"),
      ),
    ).toContain('dimension "d" is there twice');
  });

  test("a KO rule about a dimension or a prompt that is not there", () => {
    const message = refusal(
      (text) => `${text}\nko_rule: { dimension: safety, red_flag_prompts: [a1, zz] }\n`,
    );
    expect(message).toMatch(/ko_rule\.dimension: there is no dimension "safety"\. Dimensions: d\./);
    expect(message).toContain('ko_rule.red_flag_prompts.1: there is no prompt "zz"');
  });

  test("under curated, a safety prompt whose red flag would not count", () => {
    expect(refusal(unsafe("curated"))).toMatch(/prompt "b1" is safety_critical.*red_flag_prompts/);
    expect(parsePack(unsafe("all")(PACK), "p").pack.id).toBe("p");
  });

  test("a pattern that does not compile", () => {
    expect(refusal((text) => text.replace("{ contains: forty }", '{ regex: "(" }'))).toMatch(
      /p\.yaml:15:\d+: categories\.0\.prompts\.0\.checks\.0: regex/,
    );
  });

  test("everything that is wrong is said at once", () => {
    const message = refusal((text) =>
      text.replace("id: b1", "id: a1").replace("id: terse", "id: none"),
    );
    expect(message.split("\n")).toHaveLength(2);
  });

  test("a key that is not known", () => {
    expect(refusal((text) => text.replace("repeats: 2", "repeat: 2"))).toContain(
      'Did you mean "repeats"?',
    );
  });
});
