import { parseText } from "../core/yaml.ts";

interface Kind {
  what: string;
  /** Keys that only files of this kind have at their top. */
  keys: readonly string[];
  where: string;
}

const KINDS: readonly Kind[] = [
  {
    what: "a pack",
    keys: ["categories", "dimensions", "scale", "prompt_variants"],
    where: "Put it into packs/ and name it as `pack` of an entry.",
  },
  {
    what: "a machine.yaml",
    keys: ["trusted_stations", "runners", "reset_commands", "lock_path", "model_dirs"],
    where: "It belongs into your configuration directory; see `touchstoned config show`.",
  },
  {
    what: "a judge config",
    keys: ["call_timeout_s", "max_consecutive_failures"],
    where: "Put it beside the packs and name it as `judge_config` of an entry.",
  },
  {
    what: "an eval config",
    keys: ["endpoint", "models", "request_limits", "breaker", "cold_cache"],
    where: "Put it beside the packs and name it as `config` of an entry.",
  },
  {
    what: "a model disk file",
    keys: ["model_id", "architecture", "parameter_count_b"],
    where: "Name it as `model: {file: PATH}` of an entry.",
  },
  {
    what: "a touchstoned.yaml",
    keys: ["limits", "power", "inbox"],
    where: "It belongs to the top of the station.",
  },
];

/** What a text without `entries` is instead of a queue file, where its keys tell; else null. */
export function misplaced(text: string, file: string): { what: string; where: string } | null {
  let value: unknown;
  try {
    ({ value } = parseText(text, file));
  } catch {
    return null; // its own error says more
  }
  if (typeof value !== "object" || value === null || "entries" in value) return null;
  const keys = new Set(Object.keys(value));
  return KINDS.find((kind) => kind.keys.some((key) => keys.has(key))) ?? null;
}
