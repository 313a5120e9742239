import { amount } from "./figures.ts";
import type { Evidence } from "./schema.ts";

interface Change {
  /** Dotted name, as in the document. */
  name: string;
  before: unknown;
  after: unknown;
}

/** What two pieces of evidence say differently. */
export interface Comparison {
  before: { key: string; created: string; recommended: number; max_safe: number };
  after: { key: string; created: string; recommended: number; max_safe: number };
  /** A change here is why old evidence did not count any more. */
  identity: Change[];
  conditions: Change[];
  method: Change[];
  bounds: Change[];
  /** Throughput, tokens a second, by slots; null where it was not measured. */
  levels: { slots: number; before: number | null; after: number | null }[];
  reasons: { before: string; after: string };
}

function plain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function changes(before: unknown, after: unknown, name: string): Change[] {
  if (plain(before) && plain(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) =>
      changes(before[key], after[key], name === "" ? key : `${name}.${key}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ name, before, after }];
}

function about({ key, created, verdict }: Evidence): Comparison["before"] {
  return { key, created, recommended: verdict.recommended, max_safe: verdict.max_safe };
}

function speed({ verdict }: Evidence, slots: number): number | null {
  return verdict.levels.find((level) => level.slots === slots)?.tokens_per_s ?? null;
}

export function compareEvidence(before: Evidence, after: Evidence): Comparison {
  const slots = [...before.verdict.levels, ...after.verdict.levels].map((level) => level.slots);
  return {
    before: about(before),
    after: about(after),
    identity: changes(before.identity, after.identity, ""),
    conditions: changes(before.conditions, after.conditions, ""),
    method: [
      ...changes(before.sweep.method, after.sweep.method, ""),
      ...changes(before.sweep.corpus.sha256, after.sweep.corpus.sha256, "corpus"),
    ],
    bounds: changes(before.verdict.bounds, after.verdict.bounds, ""),
    levels: [...new Set(slots)]
      .toSorted((a, b) => a - b)
      .map((n) => ({ slots: n, before: speed(before, n), after: speed(after, n) })),
    reasons: { before: before.verdict.reason, after: after.verdict.reason },
  };
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return "not known";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function section(title: string, found: readonly Change[]): string[] {
  if (found.length === 0) return [`${title}: the same`];
  return [
    `${title}:`,
    ...found.map(({ name, before, after }) => `  ${name}: ${shown(before)} -> ${shown(after)}`),
  ];
}

/** For a person; lines. */
export function comparisonText(comparison: Comparison): string[] {
  const { before, after, levels, reasons } = comparison;
  const speeds = levels.map(({ slots, before: was, after: is }) => {
    const change =
      was === null || is === null || was === 0
        ? ""
        : ` (${is >= was ? "+" : "-"}${Math.abs(Math.round((is / was - 1) * 100))} %)`;
    return `  ${slots} ${slots === 1 ? "slot" : "slots"}: ${amount(was)} -> ${amount(is)} tokens/s${change}`;
  });
  return [
    `recommended: ${before.recommended} -> ${after.recommended}`,
    `safe up to:  ${before.max_safe} -> ${after.max_safe}`,
    `created:     ${before.created} -> ${after.created}`,
    ...section("identity", comparison.identity),
    ...section("conditions", comparison.conditions),
    ...section("method and corpus", comparison.method),
    ...section("bounds", comparison.bounds),
    "throughput:",
    ...speeds,
    `before: ${reasons.before}`,
    `after:  ${reasons.after}`,
  ];
}
