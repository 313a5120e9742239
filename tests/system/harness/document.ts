// The words of a document that a person would type or copy.
import { projectText } from "../../helpers/project-files.ts";

/** The code blocks of one language under a heading of a document, in order; fails where there is none. */
export function blocksOf(document: string, heading: string, language: string): string[] {
  const text = projectText(document);
  const begin = text.indexOf(`\n${heading}\n`) + 1;
  if (begin === 0 && !text.startsWith(`${heading}\n`)) {
    throw new Error(`${document} has no heading "${heading}"`);
  }
  const level = /^#+/.exec(heading)?.[0] ?? "#";
  // Up to the next heading of that level; the first one of a document has all before the second ones.
  const end = text
    .slice(begin + heading.length)
    .search(level === "#" ? /\n##? / : new RegExp(`\n${level} `));
  const section = end < 0 ? text.slice(begin) : text.slice(begin, begin + heading.length + end);
  const fence = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm");
  const blocks = [...section.matchAll(fence)].map((match) => match[1] ?? "");
  if (blocks.length === 0) throw new Error(`${document}, "${heading}": no ${language}`);
  return blocks;
}

/** The commands of a block, one a line, without the words behind them. */
export function commandsIn(block = ""): string[] {
  const lines = block.split("\n").map((line) => line.replace(/\s+#.*$/, "").trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}
