import { expect, test } from "vitest";
import { MemoryStore } from "../../helpers/memory-store.ts";
import { agreesWithRules } from "../../integration/store/agreement.ts";
import { storeConformance } from "../../integration/store/conformance.ts";

storeConformance("memory", async () => new MemoryStore());

test("agrees with the rules over 300 sequences of calls", async () => {
  await expect(agreesWithRules(() => new MemoryStore())).resolves.toBeUndefined();
}, 60_000);
