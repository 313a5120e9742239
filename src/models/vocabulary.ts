import { TRAINING_TEXT } from "./training-text.ts";

/** Kinds of token, by the numbers that GGUF gives them. */
export const TOKEN_KIND = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

export interface Vocabulary {
  tokens: string[];
  scores: number[];
  kinds: number[];
}

/** `</im_end>`-style end of a turn; its place follows from the order in which tokens are added. */
export const END_OF_TURN = 4;

/** The visible blank of SentencePiece. */
const BLANK = "\u2581";

/** A single character may always be used, but any merge is better. */
const CHARACTER_SCORE = -1e6;

class VocabularyBuilder {
  readonly vocabulary: Vocabulary = { tokens: [], scores: [], kinds: [] };
  readonly #known = new Set<string>();

  get size(): number {
    return this.vocabulary.tokens.length;
  }

  /** Adds a token that is not there yet. */
  add(text: string, score: number, kind: number): void {
    if (this.#known.has(text)) return;
    this.#known.add(text);
    this.vocabulary.tokens.push(text);
    this.vocabulary.scores.push(score);
    this.vocabulary.kinds.push(kind);
  }
}

function addBasics(builder: VocabularyBuilder): void {
  builder.add("<unk>", 0, TOKEN_KIND.unknown);
  for (const text of ["<s>", "</s>", "<|im_start|>", "<|im_end|>"]) {
    builder.add(text, 0, TOKEN_KIND.control);
  }
  // With a token for each byte any text can be encoded.
  for (let byte = 0; byte < 256; byte += 1) {
    const hex = byte.toString(16).toUpperCase().padStart(2, "0");
    builder.add(`<0x${hex}>`, 0, TOKEN_KIND.byte);
  }
  for (let code = 33; code < 127; code += 1) {
    builder.add(String.fromCharCode(code), CHARACTER_SCORE, TOKEN_KIND.normal);
  }
  builder.add(BLANK, CHARACTER_SCORE, TOKEN_KIND.normal);
}

/** The neighbours that stand side by side most often; of equals, those that were met first. */
function commonestPair(words: readonly string[][]): [string, string] | undefined {
  const counts = new Map<string, number>();
  for (const word of words) {
    for (let i = 0; i + 1 < word.length; i += 1) {
      const pair = `${word[i]}\u0000${word[i + 1]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  let best = "";
  let highest = 0;
  for (const [pair, count] of counts) {
    if (count > highest) [best, highest] = [pair, count];
  }
  const [left, right] = best.split("\u0000");
  return left === undefined || right === undefined ? undefined : [left, right];
}

function merge(word: string[], left: string, right: string): void {
  for (let i = 0; i + 1 < word.length; i += 1) {
    if (word[i] === left && word[i + 1] === right) word.splice(i, 2, left + right);
  }
}

/**
 * A SentencePiece-style vocabulary of `size` tokens (at least 400): control tokens, 256 byte tokens,
 * the printable characters, then merges learnt by byte-pair encoding on a short text. llama.cpp
 * merges the neighbours with the best score, so a score of minus the rank is BPE.
 */
export function learnVocabulary(size: number): Vocabulary {
  const builder = new VocabularyBuilder();
  addBasics(builder);
  const words = TRAINING_TEXT.split(/\s+/).map((word) => Array.from(BLANK + word));
  for (let rank = 0; builder.size < size; rank += 1) {
    const pair = commonestPair(words);
    if (pair === undefined) break;
    const [left, right] = pair;
    for (const word of words) merge(word, left, right);
    builder.add(left + right, -rank, TOKEN_KIND.normal);
  }
  // The text is used up: unused tokens fill the rest.
  for (let i = 0; builder.size < size; i += 1) {
    builder.add(`<|unused_${i}|>`, 0, TOKEN_KIND.control);
  }
  return builder.vocabulary;
}
