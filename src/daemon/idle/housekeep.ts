import { isoTime, type Clock } from "../../core/clock.ts";
import {
  commitOutbox,
  EvidenceBook,
  openRequest,
  ownPublicKey,
  pruneEvidence,
  requestCalibration,
} from "../../evidence/index.ts";
import type { Env, Station } from "../../station/index.ts";
import { calibrationModel } from "../slots/rebuild.ts";
import type { HousekeepReport } from "./protocol.ts";
import { toRenew, type Asked, type Measured } from "./renew.ts";

/** What `slots allowed` is asked for here; nothing where nobody wants more than one. */
function askedFor({ settings, machine }: Station): Asked[] {
  const { local_models, defaults } = settings;
  if (local_models.concurrent_runs === 1) return [];
  const [only, ...others] = machine.runners;
  const single = others.length === 0 ? only?.name : undefined;
  const name = local_models.runner ?? defaults.runner ?? single;
  const runner = machine.runners.find((one) => one.name === name);
  if (runner === undefined) return [];
  const model = calibrationModel(machine, runner.name) ?? local_models.model;
  return model === undefined ? [] : [{ runner: runner.name, kind: runner.kind, model }];
}

function textAt(value: unknown, name: string): string {
  const part: unknown = typeof value === "object" && value !== null ? Reflect.get(value, name) : "";
  return typeof part === "string" ? part : "";
}

/** All good evidence of this device. */
function measuredHere(state_dir: string): Measured[] {
  const own = ownPublicKey(state_dir);
  if (own === undefined) return [];
  return new EvidenceBook(state_dir, own).all().map(({ evidence }) => ({
    runner_kind: textAt(evidence.identity["runner"], "kind"),
    model: textAt(evidence.identity["model"], "id"),
    oldest_ms: Date.parse(evidence.oldest_measured),
    created_ms: Date.parse(evidence.created),
  }));
}

/** Asks for what will soon be stale. */
function renew(station: Station, now_ms: number): string[] {
  const { state_dir, settings } = station;
  const wanted = toRenew(measuredHere(state_dir), askedFor(station), {
    ...settings.evidence,
    now_ms,
  });
  return wanted.flatMap(({ key, runner, model, stale_ms }) => {
    if (openRequest(state_dir, key) !== undefined) return [];
    const reason = `its evidence is stale from ${isoTime(stale_ms)} on`;
    requestCalibration(state_dir, { key, runner, model, reason }, now_ms);
    return [`${model} with ${runner}: ${reason}`];
  });
}

/**
 * What a station needs now and then: what waits for git is committed, what will soon be stale is asked
 * for, what is of no more use is removed as the settings say.
 */
export async function housekeep(
  station: Station,
  { clock, env }: { clock: Clock; env: Env },
): Promise<HousekeepReport> {
  const { root, state_dir, settings } = station;
  const { commit, max_age_days, keep_files = null } = settings.evidence;
  const { committed, waiting, reason } = await commitOutbox({
    root,
    state_dir,
    mode: commit,
    env,
    clock,
  });
  const now_ms = clock.now_ms();
  // Before the stale ones are removed: what nobody looked at for weeks is asked for as well.
  const asked = renew(station, now_ms);
  const pruned = pruneEvidence({
    root,
    state_dir,
    max_age_days,
    keep_files,
    now_ms,
    dry_run: false,
  });
  return {
    committed: committed.length,
    waiting,
    reason,
    asked,
    pruned: pruned.state.length + pruned.requests.length + pruned.files.length,
  };
}
