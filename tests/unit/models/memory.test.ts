import { describe, expect, it } from "vitest";
import {
  bytesPerWeight,
  estimateMemory,
  fits,
  knownQuantizations,
} from "../../../src/models/index.ts";

describe("bytes a weight", () => {
  it("are those of real files, not those of the table that goes around", () => {
    expect(bytesPerWeight("q4_k_m")).toBeCloseTo(4.8944 / 8, 10);
    expect(bytesPerWeight("q3_k_l")).toBeGreaterThan(bytesPerWeight("q3_k_m"));
    expect(bytesPerWeight("iq1_s")).toBeCloseTo(0.2505, 3);
    expect(knownQuantizations()).toHaveLength(33);
    for (const name of knownQuantizations()) {
      expect(bytesPerWeight(name), name).toBeGreaterThan(0.2);
      expect(bytesPerWeight(name), name).toBeLessThanOrEqual(4);
    }
  });

  it.each([
    ["Q4_K_M", "q4_k_m"],
    ["q4-k-m", "q4_k_m"],
    [" FP16 ", "f16"],
    ["float32", "f32"],
    ["MXFP4_MOE", "mxfp4"],
    ["BF16", "bf16"],
  ])("are found for %s", (written, name) => {
    expect(bytesPerWeight(written)).toBe(bytesPerWeight(name));
  });

  it("are never guessed: the nearest and all known names are told", () => {
    expect(() => bytesPerWeight("q4_k_n")).toThrow(
      expect.objectContaining({
        exitCode: 64,
        code: "unknown_quantization",
        message: 'unknown quantization "q4_k_n"',
        hint: expect.stringMatching(/^Did you mean "q4_k_[ms]"\? Known: f32, f16, .*mxfp4\.$/),
      }),
    );
    expect(() => bytesPerWeight("awq-marlin-thing")).toThrow(
      expect.objectContaining({ hint: expect.stringMatching(/^Known: /) }),
    );
  });
});

describe("memory of a model", () => {
  const llama8b = {
    model_source_size: null,
    parameter_count_b: 8.03,
    quantization: "q4_k_m",
    // 32 layers, 8 heads with keys and values of 128 numbers each.
    kv_elements_per_token: 32 * 8 * 256,
  };

  it("is the weights and 15 %, and the cache of all slots", () => {
    const memory = estimateMemory(llama8b, { context_length: 8192, slots: 4 });
    const weights = (8.03e9 * 4.8944) / 8;
    expect(memory.weights_mb).toBe(Math.ceil(weights / 1e6));
    expect(memory.kv_cache_mb).toBe(Math.ceil((65536 * 2 * 8192 * 4) / 1e6));
    expect(memory.total_mb).toBe(Math.ceil((weights * 1.15 + 65536 * 2 * 8192 * 4) / 1e6));
  });

  it("goes by the file's size where that is known, whatever its quantization is called", () => {
    const model = { ...llama8b, model_source_size: 5_000_000_000, quantization: "new_kind" };
    expect(estimateMemory(model, { context_length: 1, slots: 1 }).weights_mb).toBe(5000);
  });

  it("counts all parameters of a mixture of experts", () => {
    const moe = { ...llama8b, parameter_count_b: 35, kv_elements_per_token: null };
    const { total_mb, kv_cache_mb } = estimateMemory(moe, { context_length: 4096, slots: 1 });
    expect(total_mb).toBeGreaterThan(23_000);
    expect(kv_cache_mb).toBeNull();
  });

  it("is less with a cache of smaller numbers", () => {
    const cache = (kv_type: string) =>
      estimateMemory(llama8b, { context_length: 8192, slots: 1, kv_type }).kv_cache_mb ?? 0;
    expect(cache("q8_0") / cache("f16")).toBeCloseTo(34 / 64, 2);
    expect(cache("q4_0")).toBeLessThan(cache("q8_0"));
    expect(() => cache("q3")).toThrow(RangeError);
  });

  it("fits where the machine has that much, and where nobody knows what it has", () => {
    const needs = { total_mb: 8000 };
    expect([7999, 8000, null].map((mb) => fits(needs, mb))).toEqual([false, true, true]);
  });
});
