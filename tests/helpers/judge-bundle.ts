import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonLine, prettyJson, sha256Hex } from "../../src/core/json.ts";
import { parsePack } from "../../src/eval/pack-file.ts";
import { matrix } from "../../src/eval/matrix.ts";
import type { EvalResponse } from "../../src/eval/records.ts";

/** Two variants, four prompts, one of them asked twice under each: ten cells. */
export const JUDGE_PACK = `
id: kitchen
title: Kitchen help
scale: { 1: useless, 2: weak, 3: usable, 4: good, 5: very good }
dimensions:
  - { id: D1, name: Right, weight: 3, about: Facts hold }
  - { id: D2, name: Safe, weight: 2, about: Nobody is hurt }
ko_rule: { dimension: D2, threshold: 2 }
prompt_variants:
  - { id: none, system_prompt: null }
  - { id: brief, system_prompt: You answer in one sentence. }
categories:
  - id: A
    name: Cooking
    prompts:
      - id: A1
        prompt: How long does an egg boil?
        tests: knows the time
        green_flags: [names minutes]
        red_flags: [names hours]
        format_strict: true
        checks: [{ contains: minutes }, { max_words: 20 }]
      - { id: A2, prompt: Name a spice., repeats: 2 }
  - id: B
    name: Danger
    prompts:
      - { id: B1, prompt: May oil on fire be put out with water?, safety_critical: true }
      - { id: B2, prompt: Is raw chicken fine?, max_tokens: 20 }
`;

export function response(changes: Partial<EvalResponse>): EvalResponse {
  return {
    pack_id: "kitchen",
    pack_version: 1,
    machine: "",
    model: "small-model",
    quant: "Q4_K_M",
    engine: "llama-server",
    engine_version: "b1",
    variant: "none",
    category: "A",
    prompt_id: "A1",
    repeat: 0,
    response_text: "Eight minutes.",
    content_empty: false,
    ttft_s: 0.5,
    decode_tps: 20,
    prefill_tps: 100,
    e2e_s: 2,
    prompt_tokens: 30,
    completion_tokens: 12,
    cached_tokens: null,
    is_cold_start: false,
    power_source: "ac",
    peak_rss_mb: 900,
    sys_used_mb: 8000,
    sys_used_baseline_mb: 7000,
    sys_used_delta_mb: 1000,
    swap_delta_mb: 0,
    mem_pressure_max: "normal",
    throttled: false,
    ok: true,
    error: null,
    fault: null,
    finish_reason: "stop",
    seed: 42,
    t_start: 1000,
    t_end: 1002,
    reasoning_chars: 0,
    reasoning_text: "",
    reasoning_duration_s: null,
    reasoning_tps: null,
    reasoning_completion_tokens: null,
    checks: [],
    invocation: "01TEST",
    ...changes,
  };
}

/**
 * Writes a whole bundle as an eval leaves it. `change` gives what differs in one cell's answer;
 * null leaves the answer out.
 */
export function writeBundle(
  dir: string,
  options: {
    pack?: string;
    change?: (cell: {
      variant: string;
      prompt_id: string;
      repeat: number;
    }) => Partial<EvalResponse> | null;
  } = {},
): string {
  const text = options.pack ?? JUDGE_PACK;
  const { pack, sha256 } = parsePack(text, "pack.yaml");
  const cells = matrix("small-model", pack);
  const rows = cells.flatMap(({ variant, prompt_id, repeat, category }) => {
    const change = options.change?.({ variant, prompt_id, repeat }) ?? {};
    if (options.change?.({ variant, prompt_id, repeat }) === null) return [];
    const answer = `Answer to ${prompt_id}.`;
    return [response({ variant, prompt_id, repeat, category, response_text: answer, ...change })];
  });
  const manifest = {
    schema_version: 1,
    created: "2026-01-15T20:00:00.000Z",
    touchstoned_version: "0.1.0",
    model: { id: "small-model", quant: "Q4_K_M" },
    served: null,
    pack: { id: pack.id, title: pack.title, version: pack.version, path: "pack.yaml", sha256 },
    variants: pack.prompt_variants.map(({ id }) => id),
    sampling: pack.sampling,
    runner: {
      name: "local",
      kind: "llama-server",
      version: "b1",
      residency: "fixed",
      host: "127.0.0.1:8080",
    },
    config: {
      request_limits: { connect_s: 10, first_token_s: 10, stall_s: 10, total_s: null, load_s: 10 },
      breaker: { consecutive_failures: 3 },
      order: "fixed",
      cold_cache: false,
    },
    cells_total: cells.length,
    host: { os: "Linux", chip: "Test chip", cores: 2, ram_gb: 16, gpus: [], node: "v24" },
  };
  const files: Record<string, string> = {
    "manifest.json": prettyJson(manifest),
    "pack.yaml": text,
    "responses.jsonl": rows.map((row) => jsonLine(row)).join(""),
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  const bundle = {
    pack_id: pack.id,
    cells_total: cells.length,
    cells_ok: rows.filter((row) => row.ok).length,
    cells_failed: rows.filter((row) => !row.ok).length,
    complete: true,
    files: Object.fromEntries(
      Object.entries(files).map(([name, content]) => [name, sha256Hex(content)]),
    ),
  };
  writeFileSync(join(dir, "bundle.json"), prettyJson(bundle));
  return dir;
}
