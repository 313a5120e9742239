import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  byPriority,
  dependencyState,
  orderFaults,
  type Ordered,
} from "../../../src/queue/order.ts";

const node = (index: number, after: string[] = [], priority = 100): Ordered => ({
  index,
  id: String(index),
  after,
  priority,
});

/** Entries that only wait for earlier ones: never a cycle. */
const acyclic = fc
  .array(fc.array(fc.nat({ max: 20 }), { maxLength: 3 }), { minLength: 1, maxLength: 20 })
  .map((rows) =>
    rows.map((after, index) =>
      node(index, index === 0 ? [] : [...new Set(after.map((n) => String(n % index)))]),
    ),
  );

test("what waits only for earlier entries is never called a cycle", () => {
  fc.assert(
    fc.property(acyclic, (entries) => {
      expect(orderFaults(entries)).toEqual([]);
    }),
  );
});

test("an edge back along a chain is always called one, and named", () => {
  const chain = fc
    .tuple(fc.integer({ min: 2, max: 30 }), fc.nat())
    .map(([length, at]) => ({ length, back: at % length }));
  fc.assert(
    fc.property(chain, ({ length, back }) => {
      const entries = Array.from({ length }, (_, i) => {
        const before = i === 0 ? [] : [String(i - 1)];
        return node(i, i === back ? [...before, String(length - 1)] : before);
      });
      const [fault] = orderFaults(entries);
      expect(fault?.message).toMatch(/^these wait for one another: (\d+) -> (?:.* -> )?\1$/);
    }),
  );
});

test("a long chain does not run out of stack", () => {
  const entries = Array.from({ length: 20_000 }, (_, i) => node(i, i === 0 ? [] : [String(i - 1)]));
  expect(orderFaults(entries)).toEqual([]);
});

test("running by state and priority keeps every `after`, whatever fails", () => {
  fc.assert(
    fc.property(
      acyclic,
      fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      (entries, ok) => {
        const state = new Map<string, "complete" | "failed">();
        const open = new Set(entries);
        for (;;) {
          const look = (entry: Ordered) => dependencyState(entry, (id) => state.get(id) ?? "open");
          for (const entry of open) {
            const found = look(entry);
            if (found.state !== "hopeless") continue;
            expect(found.ids.every((id) => state.get(id) === "failed")).toBe(true);
            state.set(String(entry.index), "failed");
            open.delete(entry);
          }
          const next = [...open]
            .filter((entry) => look(entry).state === "ready")
            .sort(byPriority)[0];
          if (next === undefined) {
            if ([...open].every((entry) => look(entry).state === "blocked")) break;
            continue;
          }
          expect(next.after.every((id) => state.get(id) === "complete")).toBe(true);
          state.set(String(next.index), ok[next.index] === true ? "complete" : "failed");
          open.delete(next);
        }
        expect(open.size).toBe(0);
      },
    ),
  );
});

test("lower priority runs sooner, then the place in the file", () => {
  const order = [node(0, [], 50), node(1, [], 10), node(2, [], 50)].sort(byPriority);
  expect(order.map((entry) => entry.index)).toEqual([1, 0, 2]);
});
