import { describe, expect, test } from "vitest";
import {
  chooseModel,
  comparableUrl,
  defaultEvalConfig,
  endpointWarning,
  loadEvalConfig,
  parseEvalConfig,
} from "../../../src/eval/config.ts";

const LEGACY = `
endpoint: { base_url: http://localhost:8080/v1 }
machine: M1
runs_per_cell: 8
seed: 42
temperature: 0
context_buckets: [4096]
scenarios: [bodydouble]
models:
  - { id: one, quant: Q4, extra_body: { think: false } }
max_tokens: { compose: 10 }
server_process_match: llama
engine: x
engine_version: "1"
output_dir: ./runs
power_check: true
vlm: { image_path: a.png }
embed: { model: bge }
`;

describe("eval config", () => {
  test("has every default in one place; an empty file asks for them", () => {
    expect(defaultEvalConfig()).toMatchObject({
      request_limits: {
        connect_s: 10,
        first_token_s: 1500,
        stall_s: 300,
        total_s: null,
        load_s: 3600,
      },
      breaker: { consecutive_failures: 3 },
      order: "fixed",
      cold_cache: false,
      models: [],
    });
    expect(parseEvalConfig("# nothing\n", "c.yaml").config).toEqual(defaultEvalConfig());
  });

  test("fills a block that is given in part", () => {
    const { config } = parseEvalConfig("request_limits: { stall_s: 60 }", "c.yaml");
    expect(config.request_limits).toMatchObject({ stall_s: 60, connect_s: 10 });
  });

  test("takes touchstone's file and says which of its keys mean nothing", () => {
    const { config, warnings } = parseEvalConfig(LEGACY, "c.yaml");
    expect(config.models[0]).toMatchObject({ id: "one", max_tokens_default: 400 });
    expect(warnings).toHaveLength(14);
    expect(warnings[0]).toBe('c.yaml: "runs_per_cell" has no meaning here and is left alone');
  });

  test.each([
    ["brekaer: {}", 'unknown key "brekaer"', 'Did you mean "breaker"?'],
    ["request_limits: { stal_s: 1 }", 'unknown key "stal_s"', 'Did you mean "stall_s"?'],
    ["order: random", "order", "c.yaml:1:8"],
    ["breaker: { consecutive_failures: -1 }", "breaker.consecutive_failures", "c.yaml:1"],
    ["request_limits: { connect_s: 0 }", "request_limits.connect_s", "c.yaml:1"],
  ])("refuses %s", (text, what, more) => {
    expect(() => parseEvalConfig(text, "c.yaml")).toThrow(what);
    expect(() => parseEvalConfig(text, "c.yaml")).toThrow(more);
  });

  test.each(["api_key: abc", "api_key_file: ~/key"])("refuses a secret: %s", (line) => {
    const text = `endpoint:\n  base_url: http://h/v1\n  ${line}\n`;
    expect(() => parseEvalConfig(text, "c.yaml")).toThrow(/c\.yaml:3:3: endpoint.*machine\.yaml/);
  });

  test("names a file that is not there", () => {
    expect(() => loadEvalConfig("/nowhere/c.yaml")).toThrow("/nowhere/c.yaml: no such eval config");
  });
});

describe("endpoint", () => {
  const { config } = parseEvalConfig("endpoint: { base_url: http://localhost:8080/v1/ }", "c");

  test("one server under its several spellings", () => {
    expect(comparableUrl("http://localhost:8080/v1/")).toBe(comparableUrl("http://127.0.0.1:8080"));
    expect(comparableUrl("http://a/v1")).not.toBe(comparableUrl("http://b/v1"));
    expect(comparableUrl("no url")).toBe("no url");
  });

  test("warns only where the config means another server", () => {
    expect(endpointWarning(config, "http://127.0.0.1:8080")).toBeNull();
    expect(endpointWarning(defaultEvalConfig(), "http://x")).toBeNull();
    expect(endpointWarning(config, "http://127.0.0.1:1234")).toContain("machine.yaml");
    expect(endpointWarning(config, null)).toContain("machine.yaml");
  });
});

function models(list: string) {
  return parseEvalConfig(`models: ${list}`, "c").config;
}

describe("model", () => {
  test("the only one of the config, the one named, any id, inline JSON", () => {
    const one = models("[{ id: a, quant: Q4 }]");
    expect(chooseModel(one, undefined)).toMatchObject({ id: "a", quant: "Q4" });
    expect(chooseModel(one, "a")).toMatchObject({ id: "a", quant: "Q4" });
    expect(chooseModel(one, "b")).toMatchObject({ id: "b", quant: "", extra_body: {} });
    expect(chooseModel(one, '{"id": "a", "extra_body": {"think": true}}')).toMatchObject({
      id: "a",
      quant: "",
      extra_body: { think: true },
    });
  });

  test.each([
    ["[]", undefined, "no model is named"],
    ["[{ id: a }, { id: b }]", undefined, "several models: a, b"],
    ["[{ id: a, quant: x }, { id: a, quant: y }]", "a", "2 models with the id"],
    ["[]", '{"idd": "a"}', 'Did you mean "id"?'],
    ["[]", "{nonsense", "--model"],
  ])("models %s with --model %s is refused", (list, asked, message) => {
    expect(() => chooseModel(models(list), asked)).toThrow(message);
  });
});
