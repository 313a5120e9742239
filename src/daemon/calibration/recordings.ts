import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Recordings } from "../../calibrate/index.ts";
import { errorMessage, inputError, systemErrorCode, TouchstonedError } from "../../core/errors.ts";
import {
  bundlePaths,
  cellKeyText,
  loadPack,
  matrix,
  messagesOf,
  readManifest,
  readResponses,
} from "../../eval/index.ts";

// Pools of what this program itself has asked: whole bundles of the station, or a pack that nobody
// has run yet. A cell of a pack is a conversation of one turn.

/** Bundles lie in a folder of a submission, which lies in a folder of a station's runs. */
const LEVELS = 4;

/** Every prompt of a pack, as `eval` would send it. No server has counted them. */
export function packRecordings(path: string): Recordings {
  const { pack } = loadPack(path);
  const requests = matrix("", pack).map((cell) => ({
    messages: messagesOf(cell),
    tools: [],
    prompt_tokens: null,
    output_tokens: null,
  }));
  return { kind: "pack", requests, notes: ["prompts of a pack, not of recorded work"] };
}

/** Folders with a bundle's answers at `dir` and below; links are not followed. */
function bundlesBelow(dir: string, levels = LEVELS): string[] {
  const { manifest, responses } = bundlePaths(dir);
  if (existsSync(manifest) && existsSync(responses)) return [dir];
  if (levels === 0) return [];
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(dir, entry.name))
    .sort()
    .flatMap((path) => bundlesBelow(path, levels - 1));
}

interface Bundle {
  model: string;
  requests: RecordedRequest[];
}

/** What a bundle's cells were asked, with what the server counted. */
function readBundle(dir: string): Bundle {
  const manifest = readManifest(dir);
  if (manifest === undefined) throw inputError(`${dir}: its manifest is gone`);
  const { pack } = loadPack(bundlePaths(dir).pack);
  const cells = new Map(
    matrix(manifest.model.id, pack).map((cell) => [cellKeyText(cell), messagesOf(cell)]),
  );
  const requests = readResponses(dir).flatMap((response) => {
    const messages = cells.get(cellKeyText(response));
    if (messages === undefined) return [];
    const { prompt_tokens, completion_tokens: output_tokens } = response;
    return [{ messages, tools: [], prompt_tokens, output_tokens }];
  });
  return { model: manifest.model.id, requests };
}

/**
 * The cells of all bundles at `dir` and below. A damaged bundle is left out with a warning. Throws an
 * input error (exit 64) where there is no bundle at all.
 */
export function bundleRecordings(dir: string): Recordings & { warnings: string[] } {
  const warnings: string[] = [];
  const bundles: Bundle[] = [];
  let found: string[];
  try {
    found = bundlesBelow(dir);
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    throw inputError(`${dir}: cannot look for bundles: ${errorMessage(error)}`, "Check the path.");
  }
  for (const path of found) {
    try {
      bundles.push(readBundle(path));
    } catch (error) {
      if (!(error instanceof TouchstonedError)) throw error;
      warnings.push(`bundle left out: ${error.message}`);
    }
  }
  const requests = bundles.flatMap((bundle) => bundle.requests);
  if (requests.length === 0) {
    const why = [`${dir}: no bundle with answers in it or below`, ...warnings].join("\n");
    throw inputError(why, "Run an eval first, or name another directory.", "no_bundles");
  }
  const models = new Set(bundles.map(({ model }) => model)).size;
  const notes = [
    `prompts of ${bundles.length} evaluation runs: single questions, no conversations`,
  ];
  if (models > 1) notes.push(`${models} models answered them, each of which counts its own tokens`);
  return { kind: "bundles", requests, notes, warnings };
}
