import { shortSha256 } from "../core/sha256.ts";

// What a llama-server's command line and variables say of how it serves, in one form: the same for how
// one is started to be measured, and for the one that is in production.

export interface ServingOptions {
  kv_type: string | null;
  flash_attention: string | null;
  /** All other settings that change what it can do, in one text. */
  batch: string | null;
}

/** One name for each option that has several. */
const SAME: Readonly<Record<string, string>> = {
  "-t": "--threads",
  "-tb": "--threads-batch",
  "-b": "--batch-size",
  "-ub": "--ubatch-size",
  "-ngl": "--gpu-layers",
  "--n-gpu-layers": "--gpu-layers",
  "-sm": "--split-mode",
  "-ts": "--tensor-split",
  "-mg": "--main-gpu",
  "-ot": "--override-tensor",
  "-cmoe": "--cpu-moe",
  "-ncmoe": "--n-cpu-moe",
  "-kvu": "--kv-unified",
  "-cb": "--cont-batching",
  "-nocb": "--no-cont-batching",
  "-md": "--model-draft",
  "-ctk": "--cache-type-k",
  "-ctv": "--cache-type-v",
  "-fa": "--flash-attn",
};

/** Which model and where, how many slots, what is logged: known otherwise, or no matter. */
const APART = new Set(
  `-m --model -mu --model-url -hf -hfr --hf-repo -hff --hf-file -hft --hf-token -a --alias --host --port --path
  --api-key --api-key-file --ssl-key-file --ssl-cert-file -np --parallel -c --ctx-size -cram --cache-ram
  --cache-prompt --no-cache-prompt --warmup --no-warmup --webui --no-webui --metrics --props --slots --no-slots
  --slot-save-path -to --timeout --threads-http -v --verbose -lv --verbosity --log-verbosity --log-file
  --log-disable --log-colors --log-prefix --log-timestamps --offline`.split(/\s+/),
);

/** Variables that change how it serves. Others are nobody's business, and may be secrets. */
const VARIABLE = /^(?:LLAMA_ARG_|GGML_|OMP_|GOMP_|KMP_|CUDA_|HIP_|ROCR_|HSA_)/;

const LLAMA_VARIABLES: Readonly<Record<string, string>> = {
  LLAMA_ARG_CACHE_TYPE_K: "--cache-type-k",
  LLAMA_ARG_CACHE_TYPE_V: "--cache-type-v",
  LLAMA_ARG_FLASH_ATTN: "--flash-attn",
  LLAMA_ARG_THREADS: "--threads",
  LLAMA_ARG_BATCH: "--batch-size",
  LLAMA_ARG_UBATCH: "--ubatch-size",
  LLAMA_ARG_N_GPU_LAYERS: "--gpu-layers",
};

/** Of LLAMA_ARG_: what is apart as an option is apart as a variable. */
const APART_VARIABLES = new Set(
  `MODEL MODEL_URL HF_REPO HF_FILE ALIAS HOST PORT STATIC_PATH SSL_KEY_FILE SSL_CERT_FILE N_PARALLEL CTX_SIZE
  CACHE_RAM CACHE_PROMPT WARMUP NO_WARMUP WEBUI NO_WEBUI ENDPOINT_METRICS ENDPOINT_PROPS ENDPOINT_SLOTS
  NO_ENDPOINT_SLOTS TIMEOUT THREADS_HTTP LOG_VERBOSITY LOG_FILE LOG_COLORS LOG_PREFIX LOG_TIMESTAMPS OFFLINE`
    .split(/\s+/)
    .map((name) => `LLAMA_ARG_${name}`),
);

const SWITCH: Readonly<Record<string, string>> = {
  "1": "on",
  true: "on",
  enabled: "on",
  "0": "off",
  false: "off",
  disabled: "off",
};

/** A number may be negative; anything else that begins with a dash is the next option. */
const isOption = (word: string): boolean => /^-[^\d]/.test(word);

/** Options with their values, the last of each name; null = it has none. */
function optionsOf(args: readonly string[]): Map<string, string | null> {
  const found = new Map<string, string | null>();
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (!isOption(word)) continue;
    const [, name = word, attached] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const next = args[at + 1];
    const value = attached ?? (next === undefined || isOption(next) ? null : next);
    if (attached === undefined && value !== null) at += 1;
    if (APART.has(name)) continue;
    const known = SAME[name] ?? name;
    found.delete(known);
    found.set(known, value);
  }
  return found;
}

function kvType(k: string | null, v: string | null): string | null {
  return k === null && v === null ? null : k === v ? k : `${k ?? "default"}/${v ?? "default"}`;
}

/** Longest text of further settings; longer ones, and those that name files, are told by a hash. */
const LONGEST = 100;

/** Words in one text, or their hash where it would be long or name files; null = none. */
export function settingsText(words: readonly string[]): string | null {
  if (words.length === 0) return null;
  const text = words.join(" ");
  const short = text.length <= LONGEST && !text.includes("/");
  return short ? text : `settings ${shortSha256(JSON.stringify(words)).slice(0, 16)}`;
}

/**
 * How a llama-server with these arguments (without its own name) and variables serves. Neither the
 * order nor the spelling of options matters; an option wins over its variable, as it does there.
 */
export function servingOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ServingOptions {
  const options = new Map<string, string | null>();
  const variables: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !VARIABLE.test(name) || APART_VARIABLES.has(name)) continue;
    const option = LLAMA_VARIABLES[name];
    if (option === undefined) variables.push(`${name}=${value}`);
    else options.set(option, value);
  }
  for (const [name, value] of optionsOf(args)) options.set(name, value);
  const take = (name: string): string | null => {
    const value = options.get(name);
    options.delete(name);
    return value ?? null;
  };
  const flash = options.has("--flash-attn") ? (take("--flash-attn") ?? "on") : null;
  const kv_type = kvType(take("--cache-type-k"), take("--cache-type-v"));
  const others = [...options].map(([name, value]) => (value === null ? name : `${name} ${value}`));
  return {
    kv_type,
    flash_attention: flash === null ? null : (SWITCH[flash] ?? flash),
    batch: settingsText([...others.sort(), ...variables.sort()]),
  };
}
