import { describe, expect, it } from "vitest";
import { measure, quantile } from "../../../bench/measure.ts";

describe("a row of the benchmark", () => {
  it("is met strictly below its limit", () => {
    expect(measure("a", 1.29, "x", 1.3, "")).toMatchObject({ goal: "< 1.3", met: true });
    expect(measure("a", 1.3, "x", 1.3, "").met).toBe(false);
    expect(measure("a", Number.NaN, "x", 1.3, "").met).toBe(false);
  });

  it("takes quantiles without changing what it is given", () => {
    const values = [5, 1, 4, 2, 3];
    expect(quantile(values, 0.5)).toBe(3);
    expect(quantile(values, 0.99)).toBe(5);
    expect(quantile(values, 0)).toBe(1);
    expect(values).toEqual([5, 1, 4, 2, 3]);
    expect(quantile([], 0.5)).toBeNaN();
  });
});
