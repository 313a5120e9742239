import type { FlatIdentity, Scalar } from "./allowed.ts";

/** What a server that is started from machine.yaml to measure on would be. */
export interface OwnStart {
  /** Its part of the identity that its evidence would have; null values are the runner's default. */
  identity: FlatIdentity;
  /** Its weights; null where the runner goes by the model's name. */
  file: string | null;
}

function shown(value: Scalar): string {
  return value === null ? "the default" : String(value);
}

const SETTINGS: Readonly<Record<string, string>> = {
  kv_type: "KV type",
  flash_attention: "flash attention",
  batch: "batch and other arguments",
};

/**
 * Why a measurement on a server of our own would not count for the one in production, with what to do;
 * null where it may count. `production`: what evidence has to be of now, `digest`: of our own weights,
 * null where it was never read.
 */
export function ownStartInVain(
  own: OwnStart,
  production: FlatIdentity,
  about: { runner: string; digest: string | null },
): string | null {
  const where = `the calibration of runner ${about.runner} in machine.yaml`;
  const live_digest = production["model.digest"] ?? null;
  if (about.digest !== null && live_digest !== null && about.digest !== live_digest) {
    return `${where} starts another model (${own.file ?? ""}) than production has: put production's file there as model_file`;
  }
  const differs = (name: string): boolean =>
    name in own.identity && name in production && own.identity[name] !== production[name];
  const settings = Object.keys(SETTINGS).filter(differs);
  if (settings.length > 0) {
    const words = settings.map(
      (name) =>
        `${SETTINGS[name] ?? name} ${shown(own.identity[name] ?? null)}, production ${shown(production[name] ?? null)}`,
    );
    return `${where} has ${words.join("; ")}: give it production's args or env`;
  }
  if (!differs("context_per_slot")) return null;
  const live = shown(production["context_per_slot"] ?? null);
  return `${where} has ${shown(own.identity["context_per_slot"] ?? null)} tokens a slot, production ${live}: \`touchstoned slots calibrate --runner ${about.runner} --context ${live}\` measures that; with context_length: ${live} there it is measured by itself`;
}
