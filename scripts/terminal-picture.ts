// Draws what a command printed in a terminal as an SVG picture for the documents:
//
//   script -qefc "npm run demo" demo.txt
//   node scripts/terminal-picture.ts demo.txt docs/images/demo.svg "npm run demo" "3. A night" "5. Where"
//
// The last two arguments cut: from the line with the first text up to the line with the second.
// Knows what this program prints: colours and weights, and lines that are taken back and redrawn.
import { readFileSync, writeFileSync } from "node:fs";

interface Span {
  text: string;
  style: string;
}

const COLOURS: Record<number, string> = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  36: "#79c0ff",
  39: "",
};

const COLUMNS = 100;
const CHARACTER_WIDTH = 7.8;
const LINE_HEIGHT = 18;
const MARGIN = 16;
const TITLE_HEIGHT = 28;

/** Style of what follows after one "select graphic rendition" sequence. */
function afterCode(style: { colour: string; bold: boolean; dim: boolean }, code: number): void {
  if (code === 0) Object.assign(style, { colour: "", bold: false, dim: false });
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 22) Object.assign(style, { bold: false, dim: false });
  else if (code in COLOURS) style.colour = COLOURS[code] ?? "";
}

/** The lines that stand on the screen in the end. */
export function screenLines(recording: string): Span[][] {
  const style = { colour: "", bold: false, dim: false };
  const lines: Span[][] = [[]];
  // oxlint-disable-next-line no-control-regex -- terminals speak in control characters
  for (const [token] of recording.matchAll(/\u001B\[[\d;?]*[A-Za-z]|\r?\n|\r|[^\u001B\r\n]+/g)) {
    if (token.endsWith("\n")) lines.push([]);
    else if (token === "\r" || token === "\u001B[2K") lines[lines.length - 1] = [];
    else if (token.startsWith("\u001B")) {
      if (!token.endsWith("m")) continue;
      for (const code of token.slice(2, -1).split(";")) afterCode(style, Number(code));
    } else {
      const css = [
        style.colour === "" ? "" : `fill:${style.colour}`,
        style.bold ? "font-weight:bold" : "",
        style.dim ? "opacity:.6" : "",
      ];
      lines.at(-1)?.push({ text: token, style: css.filter((part) => part !== "").join(";") });
    }
  }
  while (lines.at(-1)?.length === 0) lines.pop();
  return lines;
}

/** Lines as a terminal of `columns` shows them: what is longer goes on in the next row. */
export function wrapLines(lines: readonly Span[][], columns: number): Span[][] {
  return lines.flatMap((line) => {
    const rows: Span[][] = [[]];
    let used = 0;
    for (const { text, style } of line) {
      for (let rest = text; rest !== "";) {
        if (used === columns) {
          rows.push([]);
          used = 0;
        }
        const piece = rest.slice(0, columns - used);
        rows.at(-1)?.push({ text: piece, style });
        used += piece.length;
        rest = rest.slice(piece.length);
      }
    }
    return rows;
  });
}

/** The lines from the first one that holds `from` up to, but not with, the next that holds `to`. */
export function cutLines(lines: readonly Span[][], from: string, to: string): Span[][] {
  const holds = (line: readonly Span[], text: string): boolean =>
    line
      .map((span) => span.text)
      .join("")
      .includes(text);
  const first = lines.findIndex((line) => holds(line, from));
  const last = lines.findIndex((line, i) => i > first && holds(line, to));
  return lines.slice(Math.max(0, first), last < 0 ? undefined : last);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** An SVG document that shows `lines` in a window called `title`. */
export function terminalSvg(lines: readonly Span[][], title: string): string {
  const longest = Math.max(
    60,
    ...lines.map((line) => line.reduce((n, { text }) => n + text.length, 0)),
  );
  const width = Math.ceil(longest * CHARACTER_WIDTH + 2 * MARGIN);
  const height = TITLE_HEIGHT + lines.length * LINE_HEIGHT + 2 * MARGIN;
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (colour, i) => `<circle cx="${18 + 18 * i}" cy="14" r="5.5" fill="${colour}"/>`,
  );
  const rows = lines.map((line, i) => {
    const spans = line.map(({ text, style }) => {
      const attribute = style === "" ? "" : ` style="${style}"`;
      return `<tspan${attribute}>${escapeXml(text)}</tspan>`;
    });
    const y = TITLE_HEIGHT + MARGIN + 12 + i * LINE_HEIGHT;
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans.join("")}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...dots,
    `<text x="${width / 2}" y="18" text-anchor="middle" font-family="sans-serif" font-size="12" fill="#8b949e">${escapeXml(title)}</text>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3">`,
    ...rows,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

if (import.meta.main) {
  const [recording, picture, title = "npm run demo", from, to = "\n"] = process.argv.slice(2);
  if (recording === undefined || picture === undefined) {
    process.stderr.write(
      "usage: node scripts/terminal-picture.ts RECORDING PICTURE.svg [TITLE [FROM [TO]]]\n",
    );
    process.exit(2);
  }
  const text = readFileSync(recording, "utf8").replaceAll(/^Script (started|done).*$\n?/gm, "");
  const lines = screenLines(text);
  const cut = from === undefined ? lines : cutLines(lines, from, to);
  writeFileSync(picture, terminalSvg(wrapLines(cut, COLUMNS), title));
}
