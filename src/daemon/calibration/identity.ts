import type { Identity } from "../../evidence/index.ts";
import {
  liveServing,
  servingOptions,
  settingsText,
  type RunnerSettings,
  type ServingOptions,
} from "../../runners/index.ts";
import type { CalibrationPlan } from "./plan.ts";

/** What a server said of itself when it was started for the measurement. */
export interface ServerFacts {
  version: string | null;
  quantization: string | null;
  digest: string | null;
}

type Serving = Pick<Identity, "kv_type" | "flash_attention" | "batch" | "cache">;

/** The server that is there already says by its own command line how it serves, where that is ours to read. */
function attachedSettings({ kind, url }: RunnerSettings): ServingOptions {
  const serving = kind === "llama-server" && url !== null ? liveServing(url) : null;
  if (serving?.ok === true) return serving.options;
  return { kv_type: null, flash_attention: null, batch: null };
}

/** The settings that change what a server can do; what is left at the runner's default is null. */
export function servingSettings(plan: CalibrationPlan, cold: string): Serving {
  const { settings, calibration, residency } = plan;
  if (residency === "attached") return { ...attachedSettings(settings), cache: cold };
  const { args, env } = calibration;
  if (settings.kind === "ollama") {
    const { OLLAMA_KV_CACHE_TYPE: kv, OLLAMA_FLASH_ATTENTION: flash, ...others } = env;
    const words = Object.entries(others).map(([name, value]) => `${name}=${value}`);
    const batch = settingsText(words.sort());
    return { kv_type: kv ?? null, flash_attention: flash ?? null, batch, cache: cold };
  }
  return { ...servingOptions(args, env), cache: cold };
}

export type DeviceIdentity = Pick<
  Identity,
  "hardware" | "processor" | "memory_mb" | "accelerators" | "os_release"
>;

export interface ModelDigest {
  digest: string | null;
  digest_source: Identity["model"]["digest_source"];
}

/** What was measured on, as evidence names it. */
export function identityOf(
  plan: CalibrationPlan,
  parts: { device: DeviceIdentity; model: ModelDigest; facts: ServerFacts; cold: string },
): Omit<Identity, "device_key"> {
  const { device, model, facts, cold } = parts;
  return {
    ...device,
    runner: { kind: plan.settings.kind, version: facts.version, build: null },
    model: { id: plan.model, ...model },
    quantization: facts.quantization,
    context_per_slot: plan.context_per_slot,
    ...servingSettings(plan, cold),
  };
}
