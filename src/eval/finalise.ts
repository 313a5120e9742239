import { isoTime } from "../core/clock.ts";
import { readTextIfThere, writeFileAtomic } from "../core/files.ts";
import { jsonLine, prettyJson, sha256Hex } from "../core/json.ts";
import { basename } from "node:path";
import type { RunContext } from "./context.ts";
import { isSettled, type CellsOutcome } from "./cells-phase.ts";
import { perfCsv } from "./perf-csv.ts";
import type { EvalResponse } from "./records.ts";
import { joinRow, readTicks } from "./resources.ts";

export interface CellCounts {
  cells_total: number;
  cells_ok: number;
  cells_failed: number;
  /** Every cell has an answer or an error that would come again, and one at least has an answer. */
  complete: boolean;
}

export function countCells(outcome: Pick<CellsOutcome, "rows" | "total">): CellCounts {
  const cells_ok = outcome.rows.filter((row) => row.ok).length;
  return {
    cells_total: outcome.total,
    cells_ok,
    cells_failed: outcome.rows.length - cells_ok,
    // A bundle without one answer has measured nothing, whatever the errors were.
    complete:
      cells_ok > 0 && outcome.rows.length === outcome.total && outcome.rows.every(isSettled),
  };
}

/** The host as existing readers of `bundle.json` show it, with our fields beside theirs. */
function hostFields(context: RunContext) {
  const { host } = context.manifest;
  return {
    ...host,
    macos: host.os?.startsWith("macOS") === true ? host.os : null,
    ram_gb: host.ram_gb === null ? null : `${host.ram_gb.toFixed(1)} GB`,
  };
}

function hashes(paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    paths.flatMap((path) => {
      const content = readTextIfThere(path);
      return content === undefined ? [] : [[basename(path), sha256Hex(content)]];
    }),
  );
}

/** Joins the resources of all invocations and writes the derived files. Gives the joined rows. */
export function writeDerived(context: RunContext, outcome: CellsOutcome): EvalResponse[] {
  const ticks = readTicks(context.paths.resources);
  const rows = outcome.rows.map((row) => joinRow(row, ticks));
  writeFileAtomic(context.paths.responses, rows.map(jsonLine).join(""));
  writeFileAtomic(context.paths.perf, perfCsv(rows));
  return rows;
}

/** Writes `bundle.json`, the mark of a bundle that is finished; nothing of eval comes after it. */
export function writeBundleFile(context: RunContext, counts: CellCounts): void {
  const { manifest, paths, clock } = context;
  const { model } = manifest;
  const files = [
    paths.manifest,
    paths.pack,
    paths.load,
    paths.responses,
    paths.resources,
    paths.perf,
  ];
  const bundle = {
    pack_id: manifest.pack.id,
    pack_version: manifest.pack.version,
    pack_path: manifest.pack.path,
    models: [
      {
        id: model.id,
        quant: model.quant,
        ...(Object.keys(model.extra_body).length === 0 ? {} : { extra_body: model.extra_body }),
      },
    ],
    variants: manifest.variants,
    host: hostFields(context),
    sampling: manifest.sampling,
    date: isoTime(clock.now_ms()),
    ...counts,
    invocation: context.invocation,
    files: hashes(files),
  };
  writeFileAtomic(paths.bundle, prettyJson(bundle));
}
