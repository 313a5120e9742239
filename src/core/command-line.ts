/** A command that cannot be split; `column` counts from 1 within the command's text. */
export interface SplitFault {
  message: string;
  column: number;
}

interface SplitState {
  words: string[];
  word: string | undefined;
  quote: "" | "'" | '"';
  quote_at: number;
}

/** Reads one character; gives how many characters it used up. */
function take(text: string, at: number, state: SplitState): number {
  const character = text[at] ?? "";
  const next = text[at + 1];
  if (state.quote !== "") {
    if (character === state.quote) {
      state.quote = "";
      return 1;
    }
    const escaped = state.quote === '"' && character === "\\" && (next === '"' || next === "\\");
    state.word = (state.word ?? "") + (escaped ? next : character);
    return escaped ? 2 : 1;
  }
  if (character === "'" || character === '"') {
    state.quote = character;
    state.quote_at = at;
    state.word ??= "";
    return 1;
  }
  if (/\s/.test(character)) {
    if (state.word !== undefined) state.words.push(state.word);
    state.word = undefined;
    return 1;
  }
  if (character === "\\" && next !== undefined) {
    state.word = (state.word ?? "") + next;
    return 2;
  }
  state.word = (state.word ?? "") + character;
  return 1;
}

/**
 * Splits a command into program and arguments: blanks part words; single quotes keep everything;
 * double quotes keep everything but `\"` and `\\`; a backslash outside of quotes keeps the next
 * character. No shell ever sees it, so `&&`, `|`, `$VAR` and `*` are plain text.
 */
export function splitCommand(
  text: string,
): { ok: true; words: string[] } | { ok: false; fault: SplitFault } {
  const state: SplitState = { words: [], word: undefined, quote: "", quote_at: 0 };
  for (let at = 0; at < text.length;) at += take(text, at, state);
  if (state.quote !== "") {
    const message = `the ${state.quote} at character ${state.quote_at + 1} is never closed`;
    return { ok: false, fault: { message, column: state.quote_at + 1 } };
  }
  if (state.word !== undefined) state.words.push(state.word);
  return { ok: true, words: state.words };
}

/**
 * True where a reset command is one that may be used. The list holds whole commands, compared word
 * by word; the word `MODEL` in a listed command stands for any one word that is not an option.
 */
export function commandAllowed(words: readonly string[], allowed: readonly string[]): boolean {
  return allowed.some((entry) => {
    const pattern = splitCommand(entry);
    if (!pattern.ok || pattern.words.length !== words.length) return false;
    return pattern.words.every((expected, i) => {
      const given = words[i] ?? "";
      return expected === "MODEL" && i > 0 ? /^[^-\s]/.test(given) : expected === given;
    });
  });
}
