import fc from "fast-check";
import { expect, test } from "vitest";
import { testSeed } from "../../helpers/seeded.ts";
import { command, Play } from "./model.ts";
import { emptyTally } from "./tally.ts";

/** Plays `sequences` of up to 50 commands; fast-check prints the seed of one that fails, and its path. */
export function modelTest(what: string, sequences: number): void {
  test(`the daemon against a model of it: ${what}`, { timeout: 600_000 }, async () => {
    const tally = emptyTally();
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 50, size: "max" }), async (commands) => {
        const play = new Play(tally);
        await play.play({ do: "start" });
        for (const one of commands) await play.play(one);
        await play.rest();
      }),
      { numRuns: sequences, seed: testSeed() },
    );
    console.error(`[tests] met: ${JSON.stringify(tally)}`);
    // A model that has lost its teeth would meet none of these.
    for (const [met, count] of Object.entries(tally)) {
      expect([met, count > sequences / 200]).toEqual([met, true]);
    }
  });
}
