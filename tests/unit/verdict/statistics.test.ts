import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { betaCdf, shareLow } from "../../../src/verdict/beta.ts";
import {
  studentCdf,
  studentInterval,
  studentQuantile,
  welchInterval,
} from "../../../src/verdict/student.ts";

describe("Student's t", () => {
  // Two-sided tables of any textbook: 0.05 and 0.02 and 0.01.
  test.each([
    [0.025, 1, 12.706],
    [0.025, 4, 2.776],
    [0.01, 3, 4.541],
    [0.005, 10, 3.169],
    [0.05, 30, 1.697],
    [0.025, 1e6, 1.96],
  ])("exceeded with probability %d at %d degrees of freedom: %d", (alpha, freedom, t) => {
    expect(studentQuantile(alpha, freedom)).toBeCloseTo(t, 2);
  });

  test("the quantile undoes the distribution", () => {
    const alphas = fc.double({ min: 0.001, max: 0.45, noNaN: true });
    fc.assert(
      fc.property(alphas, fc.integer({ min: 1, max: 200 }), (alpha, freedom) => {
        expect(studentCdf(studentQuantile(alpha, freedom), freedom)).toBeCloseTo(1 - alpha, 8);
      }),
    );
  });

  test("is symmetric and rises", () => {
    const ts = fc.double({ min: -20, max: 20, noNaN: true });
    fc.assert(
      fc.property(ts, ts, fc.integer({ min: 1, max: 60 }), (a, b, freedom) => {
        expect(studentCdf(a, freedom) + studentCdf(-a, freedom)).toBeCloseTo(1, 10);
        const [low, high] = a < b ? [a, b] : [b, a];
        expect(studentCdf(low, freedom)).toBeLessThanOrEqual(studentCdf(high, freedom));
      }),
    );
  });

  test("an interval of known values", () => {
    // Mean 3, sample variance 2.5, standard error 0.7071, t(0.025, 4) = 2.776.
    const interval = studentInterval([1, 2, 3, 4, 5], 0.025);
    expect(interval?.mean).toBe(3);
    expect(interval?.low).toBeCloseTo(3 - 1.963, 3);
    expect(interval?.high).toBeCloseTo(3 + 1.963, 3);
  });

  test("one value bounds nothing, no value is nothing", () => {
    expect(studentInterval([0.4], 0.015)).toEqual({
      mean: 0.4,
      low: -Infinity,
      high: Infinity,
      error: null,
    });
    expect(studentInterval([], 0.015)).toBeNull();
  });

  test("a sum of two means is less sure than either of them", () => {
    const part = { variance: 0.01, freedom: 3 };
    const one = welchInterval(0.5, [part], 0.015);
    const two = welchInterval(0.5, [part, { variance: 0.02, freedom: 9 }], 0.015);
    expect(two.error).toBeGreaterThan(one.error ?? 0);
    // More is known about the second part, so the sum has more degrees of freedom than the first.
    const reach = (interval: typeof one): number => (0.5 - interval.low) / (interval.error ?? 1);
    expect(reach(two)).toBeLessThan(reach(one));
    expect(reach(one)).toBeCloseTo(studentQuantile(0.015, 3), 6);
  });

  test("a sum without any spread is certain", () => {
    expect(welchInterval(0.5, [{ variance: 0, freedom: 3 }], 0.015).low).toBe(0.5);
  });
});

describe("exact bounds of a share", () => {
  test("no hit bounds nothing from below", () => {
    expect(shareLow(0, 59, 0.95)).toBe(0);
  });

  test("all hits: the root of the error", () => {
    expect(shareLow(10, 10, 0.95)).toBeCloseTo(0.05 ** 0.1, 8);
  });

  test("the chance of so many hits or more, at the bound, is the error", () => {
    const cases = fc
      .integer({ min: 2, max: 80 })
      .chain((trials) => fc.tuple(fc.constant(trials), fc.integer({ min: 1, max: trials - 1 })));
    fc.assert(
      fc.property(cases, ([trials, hits]) => {
        const low = shareLow(hits, trials, 0.95);
        let tail = 0;
        let term = (1 - low) ** trials;
        for (let k = 0; k <= trials; k++) {
          if (k >= hits) tail += term;
          term *= ((trials - k) / (k + 1)) * (low / (1 - low));
        }
        expect(tail).toBeCloseTo(0.05, 6);
        expect(low).toBeLessThan(hits / trials);
      }),
    );
  });

  test("the beta distribution of two ones is even", () => {
    expect(betaCdf(0.3, 1, 1)).toBeCloseTo(0.3, 12);
    expect(betaCdf(-1, 2, 3)).toBe(0);
    expect(betaCdf(2, 2, 3)).toBe(1);
  });
});
