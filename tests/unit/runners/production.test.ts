import { describe, expect, it } from "vitest";
import {
  lmStudioModels,
  lmStudioModelsV0,
  ollamaLoaded,
  ollamaModelFacts,
  parseLmsLs,
  parseLmsPs,
  parseMetrics,
} from "../../../src/runners/index.ts";

const PS = '[{"identifier":"a","parallel":2,"status":"GENERATING"},{"modelKey":"no identifier"}]';

describe("lms", () => {
  it("finds the JSON behind what is said before it", () => {
    const woken = parseLmsPs(`Waking up LM Studio service...\n${PS}\n`);
    expect(woken).toEqual([
      {
        id: "a",
        context_length: null,
        max_context_length: null,
        slots: 2,
        status: "generating",
        queued: null,
        size_bytes: null,
        ttl_ms: null,
      },
    ]);
    expect(parseLmsPs("[]")).toEqual([]);
    expect(parseLmsPs("No models are currently loaded\n")).toEqual([]);
  });

  it("does not take what it does not understand for nothing", () => {
    expect(parseLmsPs("")).toBeUndefined();
    expect(parseLmsPs('"parallel":2}]')).toBeUndefined();
    expect(parseLmsPs('[{"identifier":')).toBeUndefined();
    expect(parseLmsPs("{}")).toBeUndefined();
    expect(parseLmsLs("Error: cannot connect")).toBeUndefined();
    expect(parseLmsLs('[{"type":"llm"}]')).toEqual([]);
  });
});

describe("LM Studio's lists", () => {
  it("are not there in an error, which is not the same as empty", () => {
    for (const value of [{ error: "not authorised" }, null, "x"]) {
      expect(lmStudioModels(value)).toBeUndefined();
      expect(lmStudioModelsV0(value)).toBeUndefined();
    }
    expect(lmStudioModels({ models: [] })).toEqual([]);
    expect(lmStudioModels({ models: [{ display_name: "no key" }] })).toEqual([]);
    expect(lmStudioModelsV0({ data: [{ state: "loaded" }] })).toEqual([]);
  });

  it("tell the context of a loaded one in the older API, and no slots", () => {
    const entry = { id: "m", state: "loaded", max_context_length: 8, loaded_context_length: 4 };
    expect(lmStudioModelsV0({ data: [entry] })?.[0]?.instances).toMatchObject([
      { id: "m", context_length: 4, max_context_length: 8, slots: null },
    ]);
  });

  it("leave an instance without a name out", () => {
    const model = { key: "k", loaded_instances: [{ config: { parallel: 4 } }, { id: "b" }] };
    expect(lmStudioModels({ models: [model] })?.[0]?.instances).toMatchObject([
      { id: "b", slots: null, context_length: null },
    ]);
  });
});

describe("/metrics", () => {
  it("knows vLLM's names, summed over its labels", () => {
    const text = [
      "# HELP vllm:num_requests_running Number of requests",
      'vllm:num_requests_running{model_name="a b} c"} 3.0',
      'vllm:num_requests_running{model_name="d"} 1.0',
      'vllm:num_requests_waiting{model_name="a"} 2.0 1700000000',
      'vllm:gpu_cache_usage_perc{model_name="a"} 0.25',
    ].join("\n");
    expect(parseMetrics(text)).toEqual({
      running: 4,
      waiting: 2,
      prompt_tokens_total: null,
      output_tokens_total: null,
      cache_usage: 0.25,
    });
  });

  it("tells nothing of a page that is something else, or of a number that is none", () => {
    const nothing = { running: null, waiting: null, cache_usage: null };
    expect(parseMetrics("<html>404</html>")).toMatchObject(nothing);
    expect(parseMetrics("llamacpp:requests_processing many\n")).toMatchObject(nothing);
  });
});

describe("Ollama", () => {
  it("tells how much of a model a GPU holds, and nothing where sizes are missing", () => {
    const of = (fields: object) => ollamaLoaded({ models: [{ name: "a", ...fields }] })?.[0];
    expect(of({ size: 100, size_vram: 100 })?.gpu_share).toBe(1);
    expect(of({ size: 100, size_vram: 0 })?.gpu_share).toBe(0);
    expect(of({ size: 100 })?.gpu_share).toBeNull();
    expect(of({ size: 0, size_vram: 0 })?.gpu_share).toBeNull();
    expect(ollamaLoaded({ models: [{ model: "b:latest" }, {}] })).toMatchObject([
      { name: "b:latest", digest: null },
    ]);
  });

  it("tells no list from an empty one", () => {
    expect(ollamaLoaded({ error: "x" })).toBeUndefined();
    expect(ollamaLoaded({ models: [] })).toEqual([]);
  });

  it("finds the trained context by the architecture, and nothing else's", () => {
    const info = { "general.architecture": "qwen3", "llama.context_length": 8 };
    expect(ollamaModelFacts({ model_info: info }).context_length).toBeNull();
    expect(ollamaModelFacts(undefined)).toEqual({
      architecture: null,
      context_length: null,
      quantization: null,
    });
  });
});
