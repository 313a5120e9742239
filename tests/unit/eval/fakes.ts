import { join } from "node:path";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { readJsonLines } from "../../../src/core/files.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { modelSpecSchema } from "../../../src/core/model-spec.ts";
import { parseEvalConfig, type EvalConfig } from "../../../src/eval/config.ts";
import type { EvalProbes } from "../../../src/eval/eval-probes.ts";
import { runEval, type EvalOptions, type EvalOutcome } from "../../../src/eval/index.ts";
import { parsePack } from "../../../src/eval/pack-file.ts";
import type { EvalResponse } from "../../../src/eval/records.ts";
import type {
  Fault,
  FaultClass,
  GenerateRequest,
  GenerateResult,
  LoadResult,
  Residency,
  Runner,
  RunnerStatus,
} from "../../../src/runners/index.ts";

const INCURABLE = new Set<FaultClass>(["model_not_found", "context_exceeded", "prompt_truncated"]);

export function fault(kind: FaultClass, message = "said the fake"): Fault {
  return { class: kind, message, retryable: !INCURABLE.has(kind), http_status: null };
}

/** A good answer; `changes` replaces parts of it. */
export function answer(changes: Partial<GenerateResult> = {}): GenerateResult {
  return {
    ok: true,
    fault: null,
    text: "forty-two",
    reasoning_text: "",
    tool_calls: [],
    finish_reason: "stop",
    answered_model: "m",
    timing: {
      started_at_ms: 1_000_000,
      ended_at_ms: 1_003_000,
      first_byte_s: 0.9,
      first_reasoning_s: null,
      last_reasoning_s: null,
      first_content_s: 1,
      e2e_s: 3,
    },
    usage: {
      prompt_tokens: 100,
      completion_tokens: 21,
      reasoning_tokens: null,
      cached_tokens: null,
    },
    server_timing: { load_s: null, prompt_s: null, decode_s: null, queue_s: null },
    ...changes,
  };
}

/** A failed request with what came before the fault. */
export function failed(kind: FaultClass, text = ""): GenerateResult {
  return answer({ ok: false, fault: fault(kind), text, finish_reason: null });
}

export type Reply = (
  request: GenerateRequest,
  n: number,
) => GenerateResult | Promise<GenerateResult>;

/** A runner whose server does what a test says. */
export class FakeRunner implements Runner {
  readonly settings = {
    name: "fake",
    kind: "llama-server" as const,
    url: "http://127.0.0.1:8080",
    api_key: null,
    start: null,
    declared_slots: null,
  };
  residency: Residency = "managed";
  requests: GenerateRequest[] = [];
  /** What was called, in order. */
  calls: string[] = [];
  reply: Reply = () => answer();
  statusNow: RunnerStatus = {
    reachable: true,
    reason: null,
    loading: false,
    version: "1.0",
    slots: 1,
    slots_source: "runner",
    models: [
      {
        id: "m",
        digest: "abc",
        size_bytes: 1,
        quantization: "Q4_K_M",
        context_length: 4096,
        loaded: false,
      },
    ],
  };
  modelFault: Fault | null = null;
  inMemory: string[] | null = [];
  loadResult: LoadResult = { outcome: "ok", fault: null, duration_s: 2 };
  loading: (limit_s: number) => LoadResult = () => this.loadResult;

  async status() {
    return this.statusNow;
  }
  async findFault() {
    this.calls.push("findFault");
    return this.modelFault;
  }
  async loaded() {
    return { models: this.inMemory, reason: this.inMemory === null ? "does not tell" : null };
  }
  async load(_model: string, options: { limit_s: number }) {
    this.calls.push("load");
    return this.loading(options.limit_s);
  }
  async unload() {
    return { outcome: "ok" as const, reason: null };
  }
  async serverPid() {
    return null;
  }
  async generate(request: GenerateRequest) {
    this.calls.push("generate");
    this.requests.push(request);
    return this.reply(request, this.requests.length - 1);
  }
}

export interface FakeProbes extends EvalProbes {
  /** Baseline of each sampler that is started, in order; the last one goes on. */
  baselines: (number | null)[];
  stopped: number;
  started: number;
}

export function fakeProbes(calls: string[] = []): FakeProbes {
  const probes: FakeProbes = {
    baselines: [1000, 5000],
    started: 0,
    stopped: 0,
    async startSampler() {
      calls.push("sampler");
      const baseline = probes.baselines[Math.min(probes.started, probes.baselines.length - 1)];
      probes.started += 1;
      return {
        baseline: { sys_used_mb: baseline ?? null },
        async stop() {
          probes.stopped += 1;
          return { ok: true, reason: null };
        },
      };
    },
    readPower: async () => ({ source: "ac", reason: null }),
    readHost: async () => ({
      os: "Linux",
      chip: "Test Chip",
      cores: 2,
      ram_gb: 16,
      gpus: [],
      node: "v24",
    }),
  };
  return probes;
}

/** Two variants, two categories, three prompts, one of them asked twice: eight cells. */
export const PACK = `
id: p
title: A pack
version: 3
scale: { 1: bad, 2: poor, 3: fair, 4: good, 5: excellent }
dimensions: [{ id: d, name: D }]
prompt_variants:
  - { id: none, system_prompt: null }
  - { id: terse, system_prompt: Be brief. }
sampling: { temperature: 0.5, seed: 7 }
categories:
  - id: A
    name: First
    prompts:
      - { id: a1, prompt: What is six times seven?, max_tokens: 10, checks: [{ contains: forty }] }
      - { id: a2, prompt: Say something., repeats: 2 }
  - id: B
    name: Second
    prompts:
      - { id: b1, prompt: Say more. }
`;

function evalOptions(
  bundle_dir: string,
  runner: Runner,
  changes: Partial<EvalOptions> = {},
): EvalOptions {
  const clock: Clock = changes.clock ?? systemClock;
  return {
    bundle_dir,
    model: modelSpecSchema.parse({ id: "m" }),
    pack: parsePack(PACK, "pack.yaml"),
    config: null,
    runner,
    phase: "all",
    resume: false,
    clock,
    new_id: ulidSource(clock),
    signal: new AbortController().signal,
    min_free_disk_mb: 0,
    probes: fakeProbes(),
    ...changes,
  };
}

export function run(
  bundle_dir: string,
  runner: Runner,
  changes: Partial<EvalOptions> = {},
): Promise<EvalOutcome> {
  return runEval(evalOptions(bundle_dir, runner, changes));
}

/** A row with an answer in it. */
export function row(changes: Partial<EvalResponse> = {}): EvalResponse {
  return {
    pack_id: "p",
    pack_version: 1,
    machine: "",
    model: "m",
    quant: "Q4",
    engine: "llama-server",
    engine_version: "1",
    variant: "none",
    category: "A",
    prompt_id: "a1",
    repeat: 0,
    response_text: "text",
    content_empty: false,
    ttft_s: 1,
    decode_tps: 10,
    prefill_tps: 100,
    e2e_s: 3,
    prompt_tokens: 100,
    completion_tokens: 20,
    cached_tokens: null,
    is_cold_start: false,
    power_source: "ac",
    peak_rss_mb: null,
    sys_used_mb: null,
    sys_used_baseline_mb: null,
    sys_used_delta_mb: null,
    swap_delta_mb: null,
    mem_pressure_max: null,
    throttled: false,
    ok: true,
    error: null,
    fault: null,
    finish_reason: "stop",
    seed: 1,
    t_start: 100,
    t_end: 103,
    reasoning_chars: 0,
    reasoning_text: "",
    reasoning_duration_s: null,
    reasoning_tps: null,
    reasoning_completion_tokens: 0,
    checks: [],
    invocation: "I",
    ...changes,
  };
}

export type EventRow = { type: string; ts: number } & Record<string, unknown>;

export function events(dir: string): EventRow[] {
  return readJsonLines(join(dir, "events.jsonl")) as EventRow[];
}

export function eventTypes(dir: string): string[] {
  return events(dir).map((event) => event.type);
}

export function config(text: string): EvalConfig {
  return parseEvalConfig(text, "config.yaml").config;
}

/** Fails the prompt `text` with `kind` until `healed` says true. */
export function failingFor(text: string, kind: FaultClass, healed = () => false): Reply {
  return (request) =>
    request.messages.at(-1)?.content === text && !healed() ? failed(kind, "half an") : answer();
}
