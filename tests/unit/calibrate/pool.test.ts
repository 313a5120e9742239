import { describe, expect, it } from "vitest";
import type { RecordedRequest } from "../../../src/calibrate/pool.ts";
import { conversation, poolOf } from "./pools.ts";

const shape = (requests: readonly RecordedRequest[]) =>
  poolOf(requests).runs.map(({ turns }) => turns.length);

describe("conversations from requests", () => {
  it("makes a request that goes on from an earlier one that one's next turn", () => {
    const pool = poolOf([...conversation("a", [10, 20, 30]), ...conversation("b", [10, 20])]);
    expect(pool.runs.map(({ turns }) => turns.map((turn) => turn.depth_tokens))).toEqual(
      expect.arrayContaining([
        [10, 20, 30],
        [10, 20],
      ]),
    );
    expect(pool).toMatchObject({ turns: 5, turns_measured: 5 });
  });

  it("gives the same whatever the order of the requests, and another hash for another text", () => {
    const requests = [...conversation("a", [10, 20, 30]), ...conversation("b", [10, 20])];
    expect(poolOf(requests.toReversed())).toEqual(poolOf(requests));
    expect(poolOf(conversation("a", [10])).sha256).not.toBe(poolOf(conversation("c", [10])).sha256);
  });

  it("keeps branches apart, but knows that they share a beginning", () => {
    const [first, second, third] = conversation("a", [10, 20, 30]);
    if (first === undefined || second === undefined || third === undefined) throw new Error();
    const other = { ...second, messages: [...first.messages, { role: "user", content: "else" }] };
    const pool = poolOf([first, second, third, other as RecordedRequest]);
    expect(pool.runs.map(({ turns }) => turns.length).toSorted((a, b) => a - b)).toEqual([1, 3]);
    expect(new Set(pool.runs.map(({ family }) => family)).size).toBe(1);
    expect(new Set(pool.runs.map(({ id }) => id)).size).toBe(2);
  });

  it("ends a conversation where its history was cut", () => {
    const requests = conversation("a", [10, 20, 30]);
    const [, , last] = requests;
    if (last === undefined) throw new Error();
    const cut = { ...last, messages: last.messages.slice(3) };
    expect(shape([...requests.slice(0, 2), cut]).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it("counts a repeated request once, with the larger count", () => {
    const [request] = conversation("a", [50]);
    if (request === undefined) throw new Error();
    const cached = { ...request, prompt_tokens: 3, output_tokens: null };
    const pool = poolOf([cached, request, cached]);
    expect(pool.turns).toBe(1);
    expect(pool.runs[0]?.turns[0]).toMatchObject({ prompt_tokens: 50, output_tokens: 7 });
  });

  it("names a run by its text alone", () => {
    const [run] = poolOf(conversation("/home/someone/secret", [10])).runs;
    expect(run?.id).toMatch(/^r[0-9a-f]{12}$/);
  });
});

describe("depth", () => {
  it("is called an estimate where no server counted, at the pool's own characters a token", () => {
    const counted = ["a", "b", "c", "d", "e"].flatMap((name) => conversation(name, [50]));
    const pool = poolOf([...counted, ...conversation("f", [null])]);
    const [estimated] = pool.runs.flatMap((run) =>
      run.turns.filter((turn) => turn.depth_source === "estimate"),
    );
    // 11 + 9 + 50 characters at 50 tokens, so 1.4 characters a token; 60 characters without a count.
    expect(pool.characters_per_token).toBe(1.4);
    expect(estimated?.depth_tokens).toBe(Math.ceil(60 / 1.4));
    expect(pool.notes).toEqual([expect.stringContaining("1 of 6 turns is an estimate (1.4")]);
    expect(pool.notes[0]).toContain("the pool's own median");
  });

  it("assumes four characters a token, and says so, where too few were counted", () => {
    const pool = poolOf([...conversation("a", [50]), ...conversation("b", [null])]);
    expect(pool.characters_per_token).toBe(4);
    expect(pool.notes[0]).toContain("assumed, not measured");
  });

  it("leaves out counts of what was not cached: a conversation only grows", () => {
    const pool = poolOf(conversation("a", [40, 90, 12, 130]));
    const [run] = pool.runs;
    expect(run?.turns.map((turn) => turn.prompt_tokens)).toEqual([40, 90, null, 130]);
    expect(run?.turns[2]?.depth_source).toBe("estimate");
    expect(pool.notes.join("\n")).toContain("1 recorded prompt counts were left out");
  });

  it("leaves out a count that is far too small for its text", () => {
    const [request] = conversation("a", [4000]);
    if (request === undefined) throw new Error();
    const pool = poolOf([{ ...request, prompt_tokens: 1 }]);
    expect(pool.runs[0]?.turns[0]).toMatchObject({ prompt_tokens: null, depth_tokens: 1005 });
  });

  it("counts tools and tool calls as prompt", () => {
    const [request] = conversation("a", [null]);
    if (request === undefined) throw new Error();
    const tools = [{ type: "function", function: { name: "read", parameters: {} } }];
    const call = { name: "read", arguments_text: '{"path":"a.ts"}' };
    const messages = [
      ...request.messages,
      { role: "assistant" as const, content: "", tool_calls: [call] },
      { role: "tool" as const, content: "text" },
    ];
    const depth = poolOf([{ ...request, tools, messages }]).runs[0]?.turns[0]?.depth_tokens;
    const more = JSON.stringify(tools).length + 4 + 15 + 4;
    expect(depth).toBe(Math.ceil((60 + more) / 4));
  });
});
