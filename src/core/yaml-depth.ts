import { Lexer } from "yaml";

/**
 * More of these in a row are refused before the lexer sees them: it recurses once for each. A rule
 * drawn in dashes inside a text (`- - - - -`) is shorter than that.
 */
const MAX_INDICATORS_IN_A_ROW = 200;
const INDICATOR_RUN = new RegExp(`(?:[-?:][ \\t]+){${MAX_INDICATORS_IN_A_ROW}}`);

/**
 * Upper bound of the nesting of a YAML or JSON text, found without parsing it. The parser recurses
 * once a level, and in some Node versions a few kilobytes of brackets end the process past any
 * catch. The lexer does not recurse (but for runs of indicators, which are looked at first), and it
 * knows which brackets are text: those in quotes, comments and block scalars do not count.
 */
export function nestingBound(text: string): number {
  if (INDICATOR_RUN.test(text)) return Infinity;
  let deepest = 0;
  let brackets = 0;
  // Indentation of the lines above that this line is nested in, and indicators on this line.
  const indents: number[] = [];
  let indicators = 0;
  let lineStart = true;
  for (const token of new Lexer().lex(text)) {
    if (token.endsWith("\n") && token.trim() === "") {
      lineStart = true;
      continue;
    }
    if (lineStart) {
      const indent = /^[ \t]*/.exec(token)?.[0].length ?? 0;
      while (indents.length > 0 && (indents.at(-1) ?? 0) >= indent) indents.pop();
      indents.push(indent);
      indicators = 0;
      lineStart = false;
    }
    if (token === "[" || token === "{") brackets += 1;
    else if (token === "]" || token === "}") brackets = Math.max(0, brackets - 1);
    else if (token === "-" || token === "?") indicators += 1;
    // A text of several lines ends one, too: what follows it starts in a column of its own.
    if (token.endsWith("\n")) lineStart = true;
    deepest = Math.max(deepest, brackets + indents.length + indicators);
  }
  return deepest;
}
