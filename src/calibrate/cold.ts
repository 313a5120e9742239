import { createHash } from "node:crypto";
import type { ChatMessage } from "../runners/index.ts";

/** How prompts are kept out of the server's caches. */
export type Cold = "cache_off" | "nonce";

const DIGITS = 12;

/**
 * Digits parted by blanks: tokenizers take each for the same number of tokens whatever it is, so that
 * every nonce is equally long. Letters would not be.
 */
export function nonceText(nonce: string, turn_id: string, round: number): string {
  const bytes = createHash("sha256").update(`${nonce}\0${turn_id}\0${round}`).digest();
  return [...bytes.subarray(0, DIGITS)].map((byte) => byte % 10).join(" ");
}

/**
 * The messages with the nonce before everything else: a cache that goes by equal beginnings then finds
 * none but the template's first tokens. Nothing is changed for a server whose cache is switched off.
 */
export function coldMessages(
  messages: readonly ChatMessage[],
  cold: Cold,
  key: { nonce: string; turn_id: string; round: number },
): readonly ChatMessage[] {
  const [first, ...rest] = messages;
  if (cold === "cache_off" || first === undefined) return messages;
  const mark = nonceText(key.nonce, key.turn_id, key.round);
  return [{ ...first, content: `${mark}\n${first.content}` }, ...rest];
}

/** Tokens that a chat template puts before the first message: they are always the same. */
const TEMPLATE_TOKENS = 64;

/** Why the prompt was not cold; null where it was, and where the server does not count. */
export function warmth(cached: number | null, prompt: number | null, cold: Cold): string | null {
  const allowed = cold === "cache_off" ? 0 : TEMPLATE_TOKENS;
  if (cached === null || cached <= allowed) return null;
  return `${cached} of ${prompt ?? "?"} prompt tokens came from a cache`;
}
