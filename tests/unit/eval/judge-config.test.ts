import { describe, expect, test } from "vitest";
import { judgeModel, judgeRunnerName, parseJudgeConfig } from "../../../src/eval/judge-config.ts";
import { judgesItself } from "../../../src/eval/judge-identity.ts";

const parse = (text: string) => parseJudgeConfig(text, "judge.yaml");

describe("the judge config", () => {
  test("has a default for everything", () => {
    expect(parse("# nothing\n").config).toEqual({
      temperature: 0,
      seed: 42,
      call_timeout_s: 300,
      max_consecutive_failures: 3,
      max_tokens: null,
      suppress_thinking: true,
      extra_body: {},
    });
  });

  test("takes touchstone's form", () => {
    const text = `
endpoint: { base_url: "http://127.0.0.1:1234/v1", api_key: not-needed }
model: big-judge
temperature: 0.0
call_timeout_s: 120
max_consecutive_failures: 0
max_tokens: null
`;
    expect(parse(text).config).toMatchObject({ model: "big-judge", call_timeout_s: 120 });
  });

  test.each([
    ["modle: x", /judge.yaml:1:1: unknown key "modle"\. Did you mean "model"\?/],
    ["temperature: warm", /judge.yaml:1:14: temperature/],
    ["call_timeout_s: 0", /call_timeout_s/],
    ["model: ''", /model/],
    ["endpoint:\n  api_key: sk-secret", /judge.yaml:2:3: endpoint.api_key: secrets.*machine.yaml/],
    ["endpoint:\n  api_key_file: ~/key", /endpoint.api_key_file: secrets/],
  ])("%j is refused", (text, message) => {
    expect(() => parse(text)).toThrow(message);
    expect(() => parse(text)).not.toThrow(/sk-secret/);
  });
});

const legacy = (url: string) => parse(`endpoint: { base_url: "${url}" }`).config;

describe("which runner judges", () => {
  const declared = [
    { name: "lms", url: "http://127.0.0.1:1234" },
    { name: "own", url: null },
  ];

  test("the command line, then the config's name, then the URL of a declared one", () => {
    const config = parse("runner: lms\nendpoint: { base_url: http://elsewhere:1/v1 }").config;
    expect(judgeRunnerName(config, "own", declared)).toBe("own");
    expect(judgeRunnerName(config, undefined, declared)).toBe("lms");
    expect(judgeRunnerName(legacy("http://127.0.0.1:1234/v1/"), undefined, declared)).toBe("lms");
    expect(judgeRunnerName(parse("").config, undefined, declared)).toBeUndefined();
  });

  test.each([
    "http://127.0.0.1:1235/v1",
    "https://127.0.0.1:1234/v1",
    "http://127.0.0.1.evil.example:1234/v1",
    "http://evil.example/v1",
    "nonsense",
  ])("%s is nobody's URL and no request goes there", (url) => {
    expect(() => judgeRunnerName(legacy(url), undefined, declared)).toThrow(
      expect.objectContaining({ code: "unknown_endpoint", exitCode: 64 }),
    );
  });

  test("the command line's model goes before the config's; none is an error", () => {
    const config = parse("model: a").config;
    expect([
      judgeModel(config, "b"),
      judgeModel(config, ""),
      judgeModel(config, undefined),
    ]).toEqual(["b", "a", "a"]);
    expect(() => judgeModel(parse("").config, undefined)).toThrow(/no judge model is named/);
  });

  test.each([
    ["qwen3:8b", "qwen3:8b", true],
    ["Qwen3:latest", "qwen3", true],
    ["tiny.gguf", "tiny", true],
    ["qwen3:8b", "qwen3:4b", false],
  ])("%s judging %s is itself: %j", (judge, tested, expected) => {
    expect(judgesItself(judge, tested)).toBe(expected);
  });
});
