import { expect, test } from "vitest";
import { addReferences, compareAnswers } from "../../../src/calibrate/sweep-period.ts";
import { structuralSignature } from "../../../src/calibrate/signature.ts";
import { emptyLevel, emptyState } from "../../../src/calibrate/sweep-state.ts";
import { CORPUS, METHOD } from "./devices.ts";

function turn(said: { text?: string; calls?: [name: string, value: string][] }) {
  const { text = "", calls = [] } = said;
  const tool_calls = calls.map(([name, value]) => ({
    id: "",
    name,
    arguments_text: JSON.stringify({ value }),
  }));
  return {
    turn_id: "s0#0",
    segment_id: "s0",
    ok: true,
    fault: null,
    started_s: 0,
    ended_s: 1,
    prompt_tokens: 1,
    output_tokens: 1,
    cached_tokens: 0,
    finish_reason: "stop",
    structural: structuralSignature({ text, tool_calls }),
    exact: JSON.stringify([text, calls]),
  };
}

type Said = Parameters<typeof turn>[0];
const SAME = { structural: false, exact: false };
const OTHER = { structural: true, exact: true };
const OTHER_WORDS = { structural: false, exact: true };

test.each<[string, Said, Said, object, object]>([
  ["the same words", { text: "a" }, { text: "a" }, SAME, SAME],
  ["other words", { text: "a" }, { text: "b" }, OTHER, OTHER_WORDS],
  ["another kind of text", { text: "a" }, { text: "[1]" }, OTHER, OTHER],
  ["a value of a call", { calls: [["f", "1"]] }, { calls: [["f", "2"]] }, OTHER_WORDS, OTHER_WORDS],
  ["another tool", { calls: [["f", "1"]] }, { calls: [["g", "1"]] }, OTHER, OTHER],
  [
    "words beside a call",
    { text: "a", calls: [["f", "1"]] },
    { text: "b", calls: [["f", "1"]] },
    OTHER_WORDS,
    OTHER_WORDS,
  ],
  ["words for a call", { calls: [["f", "1"]] }, { text: "a" }, OTHER, OTHER],
])("%s", (_, alone, under_load, same, any) => {
  for (const [text_answers, expected] of [
    ["same", same],
    ["any", any],
    [undefined, any],
  ] as const) {
    const { text_answers: __, ...method } = METHOD;
    const with_it = text_answers === undefined ? method : { ...method, text_answers };
    const state = emptyState(with_it, CORPUS.summary);
    addReferences(state, [turn(alone)]);
    const level = emptyLevel(2, 1);
    compareAnswers(level, [turn(under_load)], state);
    expect(level.compared["s0"]).toEqual(expected);
  }
});
