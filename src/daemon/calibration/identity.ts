import { contentHash } from "../../core/json.ts";
import type { Identity } from "../../evidence/index.ts";
import type { CalibrationPlan } from "./plan.ts";

/** What a server said of itself when it was started for the measurement. */
export interface ServerFacts {
  version: string | null;
  quantization: string | null;
  digest: string | null;
}

type Serving = Pick<Identity, "kv_type" | "flash_attention" | "batch" | "cache">;

const OPTIONS = {
  kv_k: ["-ctk", "--cache-type-k"],
  kv_v: ["-ctv", "--cache-type-v"],
  flash: ["-fa", "--flash-attn"],
} as const;

/** Takes an option with its value out of `args`; null where it is not there. */
function take(args: string[], names: readonly string[]): string | null {
  const at = args.findIndex((argument) => names.includes(argument.split("=", 1)[0] ?? ""));
  if (at < 0) return null;
  const [argument = ""] = args.splice(at, 1);
  const equals = argument.indexOf("=");
  if (equals >= 0) return argument.slice(equals + 1);
  const next = args[at];
  if (next === undefined || /^-[^\d]/.test(next)) return "on";
  args.splice(at, 1);
  return next;
}

/** Longest text of further settings; longer ones, and those that name files, are told by a hash. */
const LONGEST = 100;

function rest(words: readonly string[]): string | null {
  if (words.length === 0) return null;
  const text = words.join(" ");
  const short = text.length <= LONGEST && !text.includes("/");
  return short ? text : `settings ${contentHash(words).slice(0, 16)}`;
}

function kvType(k: string | null, v: string | null): string | null {
  return k === null && v === null ? null : k === v ? k : `${k ?? "default"}/${v ?? "default"}`;
}

/** The settings that change what a server can do; what is left at the runner's default is null. */
export function servingSettings(plan: CalibrationPlan, cold: string): Serving {
  const { settings, calibration, residency } = plan;
  const none = { kv_type: null, flash_attention: null, batch: null, cache: cold };
  if (residency === "attached") return none;
  const env = { ...calibration.env };
  if (settings.kind === "ollama") {
    const { OLLAMA_KV_CACHE_TYPE: kv, OLLAMA_FLASH_ATTENTION: flash, ...others } = env;
    const words = Object.entries(others).map(([name, value]) => `${name}=${value}`);
    const batch = rest(words.sort());
    return { kv_type: kv ?? null, flash_attention: flash ?? null, batch, cache: cold };
  }
  const args = [...calibration.args];
  const kv_type = kvType(take(args, OPTIONS.kv_k), take(args, OPTIONS.kv_v));
  const flash_attention = take(args, OPTIONS.flash);
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return { kv_type, flash_attention, batch: rest([...args, ...words.sort()]), cache: cold };
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
