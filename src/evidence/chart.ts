import { amount, boundName, ending, points, type Point } from "./figures.ts";
import type { Evidence } from "./schema.ts";

const WIDTH = 640;
const HEIGHT = 380;
const PLOT = { left: 56, right: 616, top: 84, bottom: 306 };

/**
 * Both themes in one file: a picture in a README is shown by the reader's theme, and what knows no
 * media query shows the light one, background and all.
 */
const STYLE = `
  .page { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 }
  .axis { stroke: #59636e } .line { stroke: #0969da } .dot { fill: #0969da } .bad { fill: #d1242f }
  .badline { stroke: #d1242f } .chosen { stroke: #1a7f37 } .chosentext { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .ink { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #30363d }
    .axis { stroke: #9198a1 } .line { stroke: #58a6ff } .dot { fill: #58a6ff } .bad { fill: #ff7b72 }
    .badline { stroke: #ff7b72 } .chosen { stroke: #3fb950 } .chosentext { fill: #3fb950 }
  }
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 12px }`;

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function xml(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .replaceAll(/[&<>"]/g, (character) => ESCAPES[character] ?? "");
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A step of 1, 2 or 5 times a power of ten that gives at most `most` of them up to `top`. */
export function tickStep(top: number, most: number): number {
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

interface Scale {
  x: (slots: number) => number;
  y: (tokens_per_s: number) => number;
  top: number;
  step: number;
  most: number;
}

function scale(found: readonly Point[], most: number): Scale {
  const highest = Math.max(...found.map(({ high }) => high), 1e-9);
  const step = tickStep(highest * 1.05, 5);
  const top = Math.ceil((highest * 1.05) / step) * step;
  // A single level stands in the middle.
  const width = PLOT.right - PLOT.left;
  const inset = width / (2 * most);
  const x = (slots: number): number =>
    PLOT.left +
    inset +
    ((slots - 1) / Math.max(1, most - 1)) * (most === 1 ? 0 : width - 2 * inset);
  const y = (value: number): number => PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top);
  return { x, y, top, step, most };
}

function axes({ x, y, top, step, most }: Scale): string[] {
  const lines: string[] = [];
  for (let tick = 0; tick <= top * 1.0001; tick += step) {
    const height = at(y(tick));
    lines.push(
      `<line class="${tick === 0 ? "axis" : "grid"}" x1="${PLOT.left}" x2="${PLOT.right}" y1="${height}" y2="${height}"/>`,
      `<text class="soft small" x="${PLOT.left - 8}" y="${at(y(tick) + 4)}" text-anchor="end">${amount(tick)}</text>`,
    );
  }
  for (let slots = 1; slots <= most; slots += 1) {
    lines.push(
      `<text class="soft" x="${at(x(slots))}" y="${PLOT.bottom + 20}" text-anchor="middle">${slots}</text>`,
    );
  }
  lines.push(
    `<text class="soft small" x="${at((PLOT.left + PLOT.right) / 2)}" y="${PLOT.bottom + 40}" text-anchor="middle">slots, all of them busy</text>`,
    `<text class="soft small" x="${PLOT.right}" y="47" text-anchor="end">tokens a second, all slots together</text>`,
  );
  return lines;
}

function pointMarks({ slots, value, low, high, breach }: Point, { x, y }: Scale): string[] {
  const bad = breach !== null;
  const [middle, from, to] = [x(slots), at(y(low)), at(y(high))];
  const stroke = bad ? "badline" : "line";
  const lines = [
    `<line class="${stroke}" stroke-width="1.5" x1="${at(middle)}" x2="${at(middle)}" y1="${from}" y2="${to}"/>`,
  ];
  for (const end of [from, to]) {
    lines.push(
      `<line class="${stroke}" stroke-width="1.5" x1="${at(middle - 8)}" x2="${at(middle + 8)}" y1="${end}" y2="${end}"/>`,
    );
  }
  lines.push(
    `<circle class="${bad ? "bad" : "dot"}" cx="${at(middle)}" cy="${at(y(value))}" r="4"/>`,
    `<text class="ink small" x="${at(middle + 11)}" y="${at(y(value) + 16)}">${amount(value)}</text>`,
  );
  return lines;
}

/** Levels that did not load, or were not measured, have no throughput: a cross on the axis. */
function crosses(evidence: Evidence, found: readonly Point[], { x }: Scale): string[] {
  const measured = new Set(found.map(({ slots }) => slots));
  return evidence.verdict.levels
    .filter(({ slots, breaches }) => !measured.has(slots) && breaches.length > 0)
    .map(({ slots }) => {
      const [middle, line] = [x(slots), PLOT.bottom];
      return `<path class="badline" stroke-width="2" d="M${at(middle - 5)} ${line - 5}l10 10m0 -10l-10 10"/>`;
    });
}

function upright(middle: number, kind: "chosen" | "badline"): string {
  return `<line class="${kind}" stroke-width="1.5" stroke-dasharray="4 4" x1="${at(middle)}" x2="${at(middle)}" y1="${PLOT.top}" y2="${PLOT.bottom}"/>`;
}

function label(middle: number, kind: string, text: string): string {
  return `<text class="${kind} small" x="${at(middle)}" y="${PLOT.top - 4}" text-anchor="middle">${xml(text)}</text>`;
}

function marks(evidence: Evidence, { x }: Scale): string[] {
  const { recommended, first_breach: breach } = evidence.verdict;
  const chosen = x(recommended);
  const lines = [upright(chosen, "chosen"), label(chosen, "chosentext", "recommended")];
  if (breach === null || breach.slots === recommended) return lines;
  const broken = x(breach.slots);
  return [...lines, upright(broken, "badline"), label(broken, "bad", boundName(breach.bound))];
}

/**
 * Throughput against slots with its intervals, the recommended number, and what ended the search. A
 * picture of its own, without scripts and links, readable on light and on dark.
 */
export function evidenceSvg(evidence: Evidence): string {
  const { identity, sweep, verdict } = evidence;
  const found = points(verdict);
  const most = Math.max(
    verdict.recommended,
    verdict.first_breach?.slots ?? 1,
    ...found.map(({ slots }) => slots),
    ...verdict.levels.map(({ slots }) => slots),
  );
  const scaled = scale(found, most);
  const title = `${identity.model.id} on ${identity.hardware ?? identity.processor ?? "a device without a name"}`;
  const number = `${verdict.recommended} ${verdict.recommended === 1 ? "slot" : "slots"} recommended, safe up to ${verdict.max_safe}`;
  const within = found.filter(({ breach }) => breach === null);
  const path = within.map(({ slots, value }) => `${at(scaled.x(slots))},${at(scaled.y(value))}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img">`,
    `<title>${xml(`${title}: ${number}`)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    `<text class="ink title" x="18" y="28">${xml(cut(title, 68))}</text>`,
    `<text class="soft" x="18" y="47">${xml(cut(number, 90))}</text>`,
    ...axes(scaled),
    ...marks(evidence, scaled),
    path.length > 1
      ? `<polyline class="line" stroke-width="2" fill="none" points="${path.join(" ")}"/>`
      : "",
    ...found.flatMap((point) => pointMarks(point, scaled)),
    ...crosses(evidence, found, scaled),
    `<text class="soft small" x="18" y="${HEIGHT - 14}">${xml(cut(`Ended by: ${ending(sweep, verdict)}`, 100))}</text>`,
    "</svg>",
    "",
  ]
    .filter((line, index, all) => line !== "" || index === all.length - 1)
    .join("\n");
}
