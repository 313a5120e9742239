import { sha256Hex } from "../core/json.ts";
import type { ModelSpec } from "../core/model-spec.ts";
import type { ChatMessage } from "../runners/index.ts";
import type { Pack, PackPrompt } from "./pack.ts";
import type { CellKey } from "./records.ts";

/** One cell of the matrix: one request that is to be made. */
export interface Cell extends CellKey {
  /** Place in the matrix in its fixed order, from 0. */
  index: number;
  category: string;
  system_prompt: string | null;
  prompt: PackPrompt;
}

/** One text for one cell; no id can be made so that two cells share it. */
export function cellKeyText(key: CellKey): string {
  return JSON.stringify([key.model, key.variant, key.prompt_id, key.repeat]);
}

/** All cells in the fixed order: variant, then category and prompt as in the file, then repeat. */
export function matrix(model: string, pack: Pack): Cell[] {
  const cells: Cell[] = [];
  for (const variant of pack.prompt_variants) {
    for (const category of pack.categories) {
      for (const prompt of category.prompts) {
        for (let repeat = 0; repeat < prompt.repeats; repeat += 1) {
          cells.push({
            index: cells.length,
            model,
            variant: variant.id,
            prompt_id: prompt.id,
            repeat,
            category: category.id,
            system_prompt: variant.system_prompt,
            prompt,
          });
        }
      }
    }
  }
  return cells;
}

/**
 * The same cells in an order that depends on `seed` and nothing else, so that a machine that warms
 * up does not slow down the last variant alone, and a resumed run goes on in the same order.
 */
export function shuffled(cells: readonly Cell[], seed: number): Cell[] {
  return cells
    .map((cell) => ({ cell, rank: sha256Hex(`${seed}\n${cellKeyText(cell)}`) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ cell }) => cell);
}

/** Output limit of a request in tokens; null = the model ends by itself. */
export function outputBudget(model: ModelSpec, prompt: PackPrompt): number | null {
  return prompt.max_tokens === null ? null : prompt.max_tokens + model.reasoning_headroom_tokens;
}

/** A system message only where the variant has a prompt; `prefix` goes before everything else. */
export function messagesOf(cell: Cell, prefix = ""): ChatMessage[] {
  const user: ChatMessage = { role: "user", content: cell.prompt.prompt };
  const messages: ChatMessage[] =
    cell.system_prompt === null || cell.system_prompt === ""
      ? [user]
      : [{ role: "system", content: cell.system_prompt }, user];
  const [first, ...others] = messages;
  if (first === undefined || prefix === "") return messages;
  return [{ ...first, content: prefix + first.content }, ...others];
}
