import type { JsonValue } from "../core/json.ts";

export type RunnerKind = "llama-server" | "ollama" | "openai" | "embedded";

/**
 * Whether a runner can let go of a model: `managed` loads and unloads on request, `fixed` holds its
 * model as long as it lives, `unknown` does not say.
 */
export type Residency = "managed" | "fixed" | "unknown";

/** How to start a runner of our own; null in `RunnerSettings` means that one is already there. */
export interface RunnerStart {
  /** Program to run; ignored by the embedded runner. */
  binary: string | null;
  /** Absolute path of a GGUF file. */
  model_file: string;
  /** Further arguments, from machine.yaml only. */
  args: readonly string[];
  /** Tokens of context for each slot. */
  context_length: number;
  slots: number;
  /** Added to its environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Variables of ours that it may see; all where left out. */
  keep_env?: readonly string[] | undefined;
}

/** One runner of machine.yaml, with its secrets read. */
export interface RunnerSettings {
  name: string;
  kind: RunnerKind;
  /** Base URL without a path (`http://127.0.0.1:8080`); null where we start the runner ourselves. */
  url: string | null;
  api_key: string | null;
  start: RunnerStart | null;
  /** What the owner says about the number of slots; only used where the runner cannot be asked. */
  declared_slots: number | null;
}

export interface ServedModel {
  id: string;
  digest: string | null;
  size_bytes: number | null;
  quantization: string | null;
  /** Context of one slot in tokens, as it is loaded; null where not loaded or not told. */
  context_length: number | null;
  loaded: boolean | null;
}

/** What a runner says about itself. Everything it does not say is null. */
export interface RunnerStatus {
  reachable: boolean;
  /** Why it is not reachable, or what is wrong with it. */
  reason: string | null;
  /** Answering, but busy loading its model (llama-server: 503). */
  loading: boolean;
  version: string | null;
  slots: number | null;
  slots_source: "runner" | "declared" | null;
  models: ServedModel[] | null;
}

/** What went wrong, in words a program can match. */
export type FaultClass =
  | "unreachable" // refused, reset before any byte, no such host
  | "loading" // 503 while the model loads, past the limit
  | "busy" // 503 or 429: queue full
  | "model_not_found" // asked by name and not served, whatever the server would answer
  | "wrong_model" // the answer names another model than the one asked for
  | "context_exceeded" // prompt longer than the slot's context
  | "prompt_truncated" // server cut the prompt without an error
  | "http_error" // any other status that is not 200
  | "runner_error" // an error object inside a 200 stream
  | "stream_cut" // connection ended before the stream's proper end
  | "no_final" // stream ended properly but without finish reason
  | "bad_response" // bytes that are not what the protocol says
  | "connect_timeout"
  | "first_token_timeout" // prefill took longer than its limit
  | "stall_timeout" // silence between two pieces of an answer
  | "total_timeout"
  | "cancelled"; // by us

export interface Fault {
  class: FaultClass;
  message: string;
  /** True where the same request may succeed later; false where it will fail the same way again. */
  retryable: boolean;
  http_status: number | null;
}

/** One call of a tool. `arguments_text` is the JSON that the model wrote, right or wrong. */
export interface ToolCall {
  id?: string | null | undefined;
  name: string;
  arguments_text: string;
}

/** One message, the same for all runners: each adapter writes it as its server wants it. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  /** Of an assistant. */
  tool_calls?: ToolCall[] | undefined;
  /** Of a tool's result: the call that it answers, and the tool's name (Ollama goes by that). */
  tool_call_id?: string | undefined;
  tool_name?: string | undefined;
}

/** Limits of one request, seconds on the monotonic clock. null = no limit of its own. */
export interface GenerateLimits {
  connect_s: number;
  /** From sending to the first token, load and prefill included; restarted by prompt progress. */
  first_token_s: number;
  /** Longest silence after the first token. */
  stall_s: number;
  total_s: number | null;
}

export interface GenerateRequest {
  model: string;
  messages: readonly ChatMessage[];
  /** null = the runner's own, or the model's. */
  temperature: number | null;
  seed: number | null;
  /** null = let the model end by itself. */
  max_tokens: number | null;
  /** Merged into the request's body as it is. */
  extra_body: Readonly<Record<string, JsonValue>>;
  limits: GenerateLimits;
  signal?: AbortSignal;
  /** Called for everything that shows life: bytes, tokens, the runner's own prompt progress. */
  onProgress?: (progress: GenerateProgress) => void;
}

export interface GenerateProgress {
  /** Bytes of the answer so far. */
  bytes: number;
  phase: "prefill" | "reasoning" | "answer";
  /** Share of the prompt that is processed, 0 to 1, where the runner tells. */
  prompt_share: number | null;
}

/** Seconds from the moment of sending, monotonic; null where it did not happen. */
interface GenerateTiming {
  /** Wall clock, milliseconds since the epoch. */
  started_at_ms: number;
  ended_at_ms: number;
  first_byte_s: number | null;
  first_reasoning_s: number | null;
  last_reasoning_s: number | null;
  /** First visible content. */
  first_content_s: number | null;
  /** Until the stream was consumed or the fault was known. */
  e2e_s: number;
}

/** Counts as the server gives them; null is "not told", which is not zero. */
export interface GenerateUsage {
  prompt_tokens: number | null;
  completion_tokens: number | null;
  reasoning_tokens: number | null;
  cached_tokens: number | null;
}

/** The server's own timing, seconds. */
export interface ServerTiming {
  load_s: number | null;
  prompt_s: number | null;
  decode_s: number | null;
  queue_s: number | null;
}

/** The outcome of one request. `ok` only with a finish reason and the stream's proper end. */
export interface GenerateResult {
  ok: boolean;
  fault: Fault | null;
  /** Also partial, where the stream was cut. */
  text: string;
  reasoning_text: string;
  /** In the order in which the answer makes them. */
  tool_calls: readonly ToolCall[];
  finish_reason: string | null;
  /** Model name that the answer carries. */
  answered_model: string | null;
  timing: GenerateTiming;
  usage: GenerateUsage;
  server_timing: ServerTiming;
}

export interface LoadOptions {
  limit_s: number;
  signal?: AbortSignal;
  /**
   * The extra body of the requests that will follow: a runner that loads with other options than
   * those of a request (Ollama's `num_ctx`) would load a second time at the first request.
   */
  extra_body?: Readonly<Record<string, JsonValue>>;
}

export interface LoadResult {
  outcome: "ok" | "failed" | "not_applicable";
  fault: Fault | null;
  duration_s: number;
}

export interface UnloadResult {
  outcome: "ok" | "failed" | "not_applicable";
  /** Why it failed or does not apply. */
  reason: string | null;
}

/** Ids of the models in memory; null with a reason where the runner does not tell. */
export interface LoadedModels {
  models: string[] | null;
  reason: string | null;
  /** The connection was refused: nobody is there who could hold one. */
  absent?: boolean;
}

/**
 * One way to talk to one running server. No method throws for what a server does: trouble comes
 * back as a fault. Every call opens a connection of its own and closes it.
 */
export interface Runner {
  readonly settings: RunnerSettings;
  readonly residency: Residency;
  /** Asks the server about itself; at most `limit_s` seconds [5]. */
  status(limit_s?: number): Promise<RunnerStatus>;
  /** null where `model` is served under that very name; else the fault that says why not. */
  findFault(model: string): Promise<Fault | null>;
  loaded(): Promise<LoadedModels>;
  /** Brings a model into memory (for `fixed`: waits until it is there). No limit but `limit_s`. */
  load(model: string, options: LoadOptions): Promise<LoadResult>;
  /** Lets go of one model, or of all. */
  unload(model?: string): Promise<UnloadResult>;
  generate(request: GenerateRequest): Promise<GenerateResult>;
  /** Process that holds the weights, where it is on this machine and can be told; else null. */
  serverPid(): Promise<number | null>;
}
