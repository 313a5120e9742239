import { TouchstonedError, EXIT } from "../core/errors.ts";
import { readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { parseJsonLenient, prettyJson, sha256Hex } from "../core/json.ts";
import { basename } from "node:path";
import { bundlePaths } from "./bundle-paths.ts";
import { bundleState } from "./bundle.ts";
import { readManifest, type Manifest } from "./manifest.ts";
import { matrix } from "./matrix.ts";
import { parsePack } from "./pack-file.ts";
import type { Pack } from "./pack.ts";
import type { EvalResponse, JudgeIdentity } from "./records.ts";
import { readResponses } from "./responses.ts";
import type { JudgedCell } from "./judge-verdict.ts";

/** A finished eval as the judge and the reports read it. */
export interface BundleView {
  bundle_dir: string;
  manifest: Manifest;
  /** The bundle's own copy, proven by its hash: the file it came from may have changed since. */
  pack: Pack;
  responses: EvalResponse[];
}

function notWhole(bundle_dir: string, reason: string): TouchstonedError {
  return new TouchstonedError({
    code: "bundle_not_whole",
    exitCode: EXIT.bad_input,
    message: `${bundle_dir}: this bundle cannot be judged: ${reason}`,
    hint: "Finish the eval first (eval --resume), or name another bundle.",
  });
}

/** Reads manifest, pack and answers. Throws an input error (exit 64) that says what is missing. */
export function readBundle(bundle_dir: string): BundleView {
  const manifest = readManifest(bundle_dir);
  if (manifest === undefined) throw notWhole(bundle_dir, "there is no manifest.json");
  const path = bundlePaths(bundle_dir).pack;
  const text = readTextIfThere(path);
  if (text === undefined) throw notWhole(bundle_dir, "there is no pack.yaml");
  if (sha256Hex(text) !== manifest.pack.sha256) {
    throw notWhole(bundle_dir, "pack.yaml is not the pack that was asked (its hash differs)");
  }
  const { pack } = parsePack(text, path);
  return { bundle_dir, manifest, pack, responses: readResponses(bundle_dir) };
}

/** The same, for a bundle whose eval came to its proper end and is as it was left. */
export function readWholeBundle(bundle_dir: string): BundleView {
  const { state, reason } = bundleState(bundle_dir);
  if (state !== "whole") throw notWhole(bundle_dir, reason ?? state);
  return readBundle(bundle_dir);
}

/** The answers that can be judged, in the pack's order; an answer to no known prompt is left out. */
export function judgedCells(view: BundleView): JudgedCell[] {
  const byKey = new Map(
    view.responses.map((row) => [`${row.variant}\n${row.prompt_id}\n${row.repeat}`, row]),
  );
  return matrix(view.manifest.model.id, view.pack).flatMap((cell) => {
    const response = byKey.get(`${cell.variant}\n${cell.prompt_id}\n${cell.repeat}`);
    if (response === undefined) return [];
    return [{ response, prompt: cell.prompt, system_prompt: cell.system_prompt }];
  });
}

/** The `judge` part of `bundle.json`. */
export interface JudgeSection {
  model: string;
  /** Host and port of the judge's runner; null where that is not known. */
  endpoint: string | null;
  temperature: number;
  seed: number | null;
  identity: JudgeIdentity;
  prompt_version: number;
  date: string;
  /** Every answer was judged and every report that could be made was made. */
  complete: boolean;
  /** Why it is not complete; null where it is. */
  reason: string | null;
  verdicts: number;
  scored: number;
  unscored: number;
  /** SHA-256 of the judge's files by name. */
  files: Record<string, string>;
}

type BundleRecord = Record<string, unknown>;

function readBundleRecord(bundle_dir: string): BundleRecord {
  const text = readTextIfThere(bundlePaths(bundle_dir).bundle);
  const value = text === undefined ? undefined : parseJsonLenient(text);
  return typeof value === "object" && value !== null ? (value as BundleRecord) : {};
}

/** The judge section as it stands; null where the bundle was never judged. */
export function readJudgeSection(bundle_dir: string): JudgeSection | null {
  const section = readBundleRecord(bundle_dir)["judge"];
  return typeof section === "object" && section !== null ? (section as JudgeSection) : null;
}

/** Hashes of the judge's files that are there. */
export function judgeFileHashes(bundle_dir: string): Record<string, string> {
  const paths = bundlePaths(bundle_dir);
  return Object.fromEntries(
    [paths.judgements, paths.reports, paths.scores].flatMap((path) => {
      const text = readTextIfThere(path);
      return text === undefined ? [] : [[basename(path), sha256Hex(text)]];
    }),
  );
}

/** Replaces the judge section and nothing else; null takes it away. */
export function writeJudgeSection(bundle_dir: string, section: JudgeSection | null): void {
  const { judge: _old, ...rest } = readBundleRecord(bundle_dir);
  const record = section === null ? rest : { ...rest, judge: section };
  writeFileAtomic(bundlePaths(bundle_dir).bundle, prettyJson(record));
}
