import { expect, test } from "vitest";
import { Lazy } from "../../../src/core/lazy.ts";

test("it is made once, at its first use, and again only where that failed", async () => {
  let made = 0;
  const lazy = new Lazy(async () => {
    made += 1;
    if (made === 1) throw new Error("not yet");
    return made;
  });
  expect([made, lazy.now()]).toEqual([0, undefined]);
  await expect(lazy.get()).rejects.toThrow("not yet");
  expect(lazy.now()).toBeUndefined();
  expect(await Promise.all([lazy.get(), lazy.get()])).toEqual([2, 2]);
  expect([made, lazy.now()]).toEqual([2, 2]);
});
