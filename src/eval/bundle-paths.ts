import { join } from "node:path";

const FILES = {
  manifest: "manifest.json",
  pack: "pack.yaml",
  load: "load.json",
  events: "events.jsonl",
  resources: "resources.jsonl",
  responses: "responses.jsonl",
  perf: "perf.csv",
  bundle: "bundle.json",
  result: "result.json",
  scorecard: "scorecard.md",
  judgements: "judgements.jsonl",
  reports: "reports.jsonl",
  scores: "scores.csv",
  judge_events: "judge_events.jsonl",
} as const;

export type BundlePaths = Record<keyof typeof FILES, string>;

/** Where each file of a bundle lies. */
export function bundlePaths(bundle_dir: string): BundlePaths {
  return Object.fromEntries(
    Object.entries(FILES).map(([key, name]) => [key, join(bundle_dir, name)]),
  ) as BundlePaths;
}
