import { sha256Hex } from "../core/json.ts";
import type { Segment } from "./device.ts";

/** A number in [0, 1) that depends on the words alone: the same on every machine and after a restart. */
function draw(...words: readonly (string | number)[]): number {
  return Number.parseInt(sha256Hex(words.join("\n")).slice(0, 12), 16) / 2 ** 48;
}

/**
 * Segments in an order in which every stretch has about the pool's own mix: strata take turns by
 * their weight, each in a seeded order of its own. Every level begins at its start, so that answers
 * at one slot serve all of them. Goes round where a stratum runs out.
 */
export function dealSegments(segments: readonly Segment[], seed: number): Segment[] {
  const strata = new Map<string, Segment[]>();
  for (const segment of segments) {
    strata.set(segment.stratum, [...(strata.get(segment.stratum) ?? []), segment]);
  }
  const piles = [...strata.values()].map((pile) => ({
    cards: pile
      .map((segment) => ({ segment, at: draw(seed, segment.id) }))
      .sort((a, b) => a.at - b.at)
      .map(({ segment }) => segment),
    share: pile.reduce((sum, segment) => sum + segment.weight, 0),
    dealt: 0,
  }));
  const whole = piles.reduce((sum, pile) => sum + pile.share, 0);
  const deck: Segment[] = [];
  // Long enough that each segment comes up once, also those of a stratum with little weight.
  const left = new Set(segments.map((segment) => segment.id));
  while (left.size > 0 && deck.length < 20 * segments.length) {
    const due = (pile: (typeof piles)[number]): number =>
      (pile.share / whole) * (deck.length + 1) - pile.dealt;
    const [first, ...rest] = piles;
    if (first === undefined) break;
    const pile = rest.reduce((best, other) => (due(other) > due(best) ? other : best), first);
    const card = pile.cards[pile.dealt % pile.cards.length];
    pile.dealt += 1;
    if (card === undefined) break;
    deck.push(card);
    left.delete(card.id);
  }
  return deck;
}

/** `turns` consecutive turns of a segment, always the same ones: answers of levels must be comparable. */
export function sliceOf(segment: Segment, turns: number, seed: number): Segment {
  if (turns >= segment.turns.length) return segment;
  const last = segment.turns.length - 1;
  const from = Math.floor(draw(seed, segment.id, "turn") * (last + 1));
  const begin = Math.min(from, segment.turns.length - turns);
  return { ...segment, turns: segment.turns.slice(begin, begin + turns) };
}

/**
 * The same cards in chance order. Which turn comes last in a period must not follow the deck's own
 * rhythm: behind it stand fillers, and a server that answers in turn lets it wait for those.
 */
export function shuffled<T>(cards: readonly T[], random: () => number): T[] {
  return cards
    .map((card) => ({ card, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ card }) => card);
}

/** `count` different segments of the deck from place `from` on, going round; fewer where it has fewer. */
export function cardsFrom(deck: readonly Segment[], from: number, count: number): Segment[] {
  const taken = new Map<string, Segment>();
  for (let step = 0; step < deck.length && taken.size < count; step++) {
    const card = deck[(from + step) % deck.length];
    if (card !== undefined && !taken.has(card.id)) taken.set(card.id, card);
  }
  return [...taken.values()];
}
