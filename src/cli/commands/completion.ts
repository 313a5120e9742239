import { EXIT } from "../../core/errors.ts";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { zshCompletion } from "../completion/zsh.ts";
import type { CommandAction } from "../context.ts";
import type { CommandOutline } from "../outline.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

export interface CompletionOptions {
  /** Another word is refused before we are asked. */
  shell: keyof typeof SHELLS;
  /** Of the whole program. */
  outline: CommandOutline;
}

export const run: CommandAction<CompletionOptions> = async ({ shell, outline }, { terminal }) => {
  terminal.out(SHELLS[shell](outline).trimEnd());
  return EXIT.done;
};
