import type { Segment, Turn } from "../../src/calibrate/device.ts";
import type { CorpusSummary } from "../../src/verdict/index.ts";
import type { Work } from "./device.ts";
import { Draw } from "./random.ts";

const SEGMENTS = 160;
const LENGTH = 3;
/** Depth: label, share of the pool, mean seconds of a turn at one slot. */
const STRATA = [
  { label: "0-16383", share: 0.2, seconds: 4 },
  { label: "16384-32767", share: 0.3, seconds: 8 },
  { label: "32768-49151", share: 0.3, seconds: 12 },
  { label: ">=49152", share: 0.2, seconds: 16 },
] as const;

export interface SimulatedCorpus {
  segments: Segment[];
  summary: CorpusSummary;
  work: (turn: Turn) => Work;
}

/** The same made corpus for every device: strata of depth, equal numbers, weighted back to the pool. */
export function madeCorpus(count = SEGMENTS): SimulatedCorpus {
  const draw = new Draw(7);
  const works = new Map<string, Work>();
  const segments = Array.from({ length: count }, (_, index): Segment => {
    const stratum = STRATA[index % STRATA.length] ?? STRATA[0];
    const id = `s${index}`;
    const turns = Array.from({ length: LENGTH }, (_unused, at) => ({
      id: `${id}#${at}`,
      segment_id: id,
    }));
    for (const turn of turns) {
      const seconds = stratum.seconds * Math.exp(0.3 * draw.normal());
      works.set(turn.id, {
        seconds,
        prompt_tokens: Math.round(3000 * stratum.seconds),
        output_tokens: Math.round(draw.between(60, 240)),
      });
    }
    return { id, stratum: stratum.label, weight: stratum.share * STRATA.length, turns };
  });
  const fallback = { seconds: 1, prompt_tokens: 1, output_tokens: 1 };
  return {
    segments,
    summary: {
      sha256: "0".repeat(64),
      segments: count,
      turns: count * LENGTH,
      segment_length: LENGTH,
      seed: 7,
      strata: STRATA.map(({ label, share }) => ({
        label,
        segments: segments.filter((segment) => segment.stratum === label).length,
        pool_share: share,
      })),
      notes: [],
    },
    work: (turn) => works.get(turn.id) ?? fallback,
  };
}
