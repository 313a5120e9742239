import { describe, expect, it } from "vitest";
import { ownStartInVain } from "../../../src/evidence/own-start.ts";

const IDENTITY = { context_per_slot: 1024, kv_type: null, flash_attention: null, batch: null };
const OWN = { identity: IDENTITY, file: "/m/tiny.gguf" };
const DIGEST = "a".repeat(64);
const PRODUCTION = { ...IDENTITY, "model.digest": DIGEST, "runner.version": "b1" };
const about = (digest: string | null = DIGEST) => ({ runner: "house", digest });

describe("a measurement on a server of our own", () => {
  it("may count where nothing that is known differs", () => {
    expect(ownStartInVain(OWN, PRODUCTION, about())).toBeNull();
    expect(ownStartInVain(OWN, PRODUCTION, about(null))).toBeNull();
    expect(ownStartInVain(OWN, { "model.digest": null }, about())).toBeNull();
  });

  it.each([
    [
      { context_per_slot: 2048 },
      /has 1024 tokens a slot, production 2048: `touchstoned slots calibrate --runner house --context 2048`/,
    ],
    [
      { kv_type: "q8_0" },
      /has KV type the default, production q8_0: give it production's args or env$/,
    ],
    [{ "model.digest": "b".repeat(64) }, /starts another model \(\/m\/tiny\.gguf\)/],
    // With --context alone it would still be of another KV type.
    [{ context_per_slot: 2048, batch: "512" }, /production's args or env$/],
  ])("is in vain where production has %j", (more, words) => {
    expect(ownStartInVain(OWN, { ...PRODUCTION, ...more }, about())).toMatch(words);
  });
});
