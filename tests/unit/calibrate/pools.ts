import type { CorpusMessage } from "../../../src/calibrate/corpus-schema.ts";
import { makePool, type Pool, type RecordedRequest } from "../../../src/calibrate/pool.ts";
import type { DrawOptions } from "../../../src/calibrate/corpus-draw.ts";

/** Turns of one conversation; the n-th prompt has `depths[n]` tokens by the server's count. */
export function conversation(
  name: string,
  depths: readonly (number | null)[],
  system = `system of ${name}`,
): RecordedRequest[] {
  const messages: CorpusMessage[] = [{ role: "system", content: system }];
  return depths.map((prompt_tokens, i) => {
    messages.push({
      role: "user",
      content: `${name} asks ${i} ${"x".repeat(prompt_tokens ?? 40)}`,
    });
    const request = { messages: [...messages], tools: [], prompt_tokens, output_tokens: 7 };
    messages.push({ role: "assistant", content: `answer ${i}` });
    return request;
  });
}

export function poolOf(requests: readonly RecordedRequest[]): Pool {
  return makePool({ kind: "requests", requests, notes: [] });
}

export const OPTIONS: DrawOptions = {
  strata: [100, 1000],
  min_per_stratum: 2,
  seed: 1,
  allow_shared_prefix: false,
};
