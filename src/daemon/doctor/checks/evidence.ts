import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  freshness,
  openRequests,
  readCatalog,
  type CalibrationRequest,
  type Catalog,
  type Listed,
} from "../../../evidence/index.ts";
import { counted, failure, ok, span, warning, type Line } from "../line.ts";

const DAY_MS = 86_400_000;
/** A request that nobody answered for so long will not be answered by itself. */
const UNANSWERED_MS = 7 * DAY_MS;
const NAMED = 3;

export interface EvidenceInput {
  catalog: Catalog;
  requests: readonly CalibrationRequest[];
  max_age_days: number;
  /** So long before it expires, it is time to measure again. */
  renew_before_days: number;
  /** What `slots allowed` goes by: 1 asks nothing of evidence. */
  concurrent_runs: number | "measured";
  now_ms: number;
  /** Requests that the daemon does not work at, and why; empty where none runs. */
  waits: readonly { key: string; why: string }[];
}

function nameOf({ evidence }: Listed): string {
  return `${evidence.identity.model.id} on ${evidence.identity.runner.kind}`;
}

function measureAgain({ evidence }: Listed): string {
  return `Measure again when the device is free: touchstoned slots calibrate --model ${evidence.identity.model.id}`;
}

function ageLine(listed: Listed, input: EvidenceInput): Line {
  const { evidence } = listed;
  const { fresh, age_days, reason } = freshness(evidence, input.now_ms, input.max_age_days);
  const name = nameOf(listed);
  if (!fresh) {
    return warning(
      `evidence for ${name} does not count any more: ${reason ?? ""}; slots allowed says 1`,
      measureAgain(listed),
    );
  }
  const left_days = input.max_age_days - (age_days ?? 0);
  if (left_days < input.renew_before_days) {
    return warning(
      `evidence for ${name} expires in ${span(left_days * DAY_MS)}; then slots allowed says 1`,
      measureAgain(listed),
    );
  }
  const { recommended, max_safe } = evidence.verdict;
  return ok(
    `evidence for ${name}: ${counted(recommended, "slot")} (safe up to ${max_safe}), ${Math.floor(age_days ?? 0)} days old, good for ${Math.floor(left_days)} more`,
  );
}

/** The newest evidence of this device for each runner and model. */
function ownNewest({ listed }: Catalog): Listed[] {
  const newest = new Map<string, Listed>();
  for (const entry of listed) if (entry.own && entry.newest) newest.set(nameOf(entry), entry);
  return [...newest.values()];
}

function absentLine({ catalog, concurrent_runs }: EvidenceInput, own: Listed[]): Line | null {
  if (own.length > 0) return null;
  const others = catalog.listed.length + catalog.refused.filter(isForeign).length;
  const elsewhere =
    others === 0
      ? ""
      : `; ${counted(others, "piece")} in evidence/, measured on other devices, do not count here`;
  if (concurrent_runs === 1) {
    return ok(
      `nothing was measured here, and concurrent_runs is 1, so nothing needs to be${elsewhere}`,
    );
  }
  return warning(
    `nothing was measured on this device, so slots allowed says 1 (concurrent_runs: ${concurrent_runs})${elsewhere}`,
    "touchstoned slots corpus --from-runs --out corpus.json && touchstoned slots calibrate --corpus corpus.json",
  );
}

/** Signed by a device whose key nobody pinned: of no use here, and nothing is wrong with it. */
function isForeign({ fault }: Catalog["refused"][number]): boolean {
  return fault.includes("whose key is not among");
}

function refusedLines({ refused: all }: Catalog): Line[] {
  const refused = all.filter((one) => !isForeign(one));
  const lines = refused
    .slice(0, NAMED)
    .map(({ path, fault }) =>
      failure(
        `evidence that cannot be believed (${path}): ${fault}`,
        "touchstoned evidence verify says more. Put the file back from git, or remove it and measure again.",
      ),
    );
  const more = refused.length - NAMED;
  if (more <= 0) return lines;
  const text = `${more} more that cannot be believed`;
  return [...lines, failure(text, "touchstoned evidence verify")];
}

function requestLines({ requests, now_ms, waits }: EvidenceInput): Line[] {
  const open = requests.map((request) => ({
    ...request,
    age_ms: now_ms - Date.parse(request.requested_at),
  }));
  return open.slice(0, NAMED).map(({ key, model, runner, reason, age_ms }) => {
    const why = waits.find((wait) => wait.key === key)?.why;
    const yet = why === undefined ? "" : `; not yet: ${why}`;
    const what = `a measurement of ${model ?? "a model"} with ${runner ?? "a runner"}`;
    if (!(age_ms > UNANSWERED_MS)) return ok(`${what} is asked for (${reason})${yet}`);
    return warning(
      `${what} has been asked for since ${span(age_ms)} ago, and nobody made it (${reason})${yet}`,
      "Make it: touchstoned slots calibrate --if-requested. Or forget it: touchstoned evidence prune",
    );
  });
}

/** What was measured here, whether it counts, and how long it still will. */
export function evidenceLines(input: EvidenceInput): Line[] {
  const own = ownNewest(input.catalog);
  const absent = absentLine(input, own);
  return [
    ...(absent === null ? [] : [absent]),
    ...own.map((listed) => ageLine(listed, input)),
    ...refusedLines(input.catalog),
    ...requestLines(input),
  ];
}

/** What there is in a station. `state_dir` need not be there. */
export function realEvidence(
  root: string,
  state_dir: string,
): Pick<EvidenceInput, "catalog" | "requests"> {
  const state = existsSync(join(state_dir, "evidence")) || existsSync(join(state_dir, "outbox"));
  return {
    catalog: readCatalog(root, state ? state_dir : null),
    requests: openRequests(state_dir),
  };
}
