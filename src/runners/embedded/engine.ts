import type { Clock } from "../../core/clock.ts";
import { errorMessage } from "../../core/errors.ts";
import { templateMessages } from "../messages.ts";
import type { ChatMessage } from "../runner.ts";
import {
  chatTemplate,
  loadLibrary,
  quantization,
  type LlamaContext,
  type LlamaModel,
  type LoadedLibrary,
  type Sampling,
  type Sequence,
  type Token,
} from "./node-llama.ts";
import { SlotPool } from "./slots.ts";

export interface EngineOptions {
  module_dir: string;
  model_file: string;
  slots: number;
  /** Tokens of context for each slot. */
  slot_context: number;
  threads: number | null;
}

export interface EngineJob {
  messages: readonly ChatMessage[];
  /** For the model's template. */
  tools: readonly unknown[];
  sampling: Sampling;
  /** GBNF that the answer must follow. */
  grammar: string | null;
  /** null = until it ends by itself or the slot's context is full. */
  max_tokens: number | null;
  /** Whether what the slot still holds of an equal beginning may be used again. */
  cache_prompt: boolean;
  signal: AbortSignal;
  onPrompt(progress: { total: number; cache: number; processed: number; time_ms: number }): void;
  onText(text: string): void;
}

export interface EngineResult {
  finish_reason: "stop" | "length";
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  prompt_ms: number;
  predicted_ms: number;
}

export interface ModelFacts {
  size_bytes: number;
  quantization: string | null;
  train_context: number;
}

export type EngineState = "unloaded" | "loading" | "loaded";

/** What the HTTP server needs of an engine; tests bring one of their own. */
export interface Engine {
  readonly state: EngineState;
  readonly version: string | null;
  readonly facts: ModelFacts | null;
  /** For each slot whether it is at work. */
  busy(): boolean[];
  load(): Promise<void>;
  /** Waits for the requests that run, then gives the memory back. */
  unload(): Promise<void>;
  /** Throws `ContextExceeded` or `BadGrammar` before anything is said. */
  generate(job: EngineJob): Promise<EngineResult>;
}

export class ContextExceeded extends Error {
  readonly prompt_tokens: number;

  constructor(prompt_tokens: number) {
    super(`a prompt of ${prompt_tokens} tokens does not fit`);
    this.prompt_tokens = prompt_tokens;
  }
}

export class BadGrammar extends Error {}

/** Tokens of a prompt that are worked off before progress is told and cancelling is noticed. */
const PROMPT_STEP = 256;
/** Tokens before a piece that its text may depend on (blanks at the start of a word). */
const LOOK_BACK = 4;
/** A character has at most four bytes, so at most four tokens hold one. */
const CHARACTER_TOKENS = 4;

interface Loaded {
  model: LlamaModel;
  context: LlamaContext;
  pool: SlotPool<Sequence>;
}

/** Turns tokens into text, and holds back a character until all its bytes are there. */
class TextOfTokens {
  readonly #model: LlamaModel;
  #last: Token[];
  #held: Token[] = [];

  constructor(model: LlamaModel, prompt: readonly Token[]) {
    this.#model = model;
    this.#last = prompt.slice(-LOOK_BACK);
  }

  /** The text that `token` completes; "" where its character is not whole yet. */
  add(token: Token): string {
    this.#held.push(token);
    const text = this.#model.detokenize(this.#held, false, this.#last);
    if (text.endsWith("\uFFFD") && this.#held.length < CHARACTER_TOKENS) return "";
    return this.#flush(text);
  }

  rest(): string {
    if (this.#held.length === 0) return "";
    return this.#flush(this.#model.detokenize(this.#held, false, this.#last));
  }

  #flush(text: string): string {
    this.#last = [...this.#last, ...this.#held].slice(-LOOK_BACK);
    this.#held = [];
    return text;
  }
}

/** One model file in node-llama-cpp, with a fixed number of sequences as slots. */
export class LlamaEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #clock: Clock;
  #library: LoadedLibrary | undefined;
  #loading: Promise<void> | undefined;
  #loaded: Loaded | undefined;
  facts: ModelFacts | null = null;

  constructor(options: EngineOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  get state(): EngineState {
    if (this.#loaded !== undefined) return "loaded";
    return this.#loading === undefined ? "unloaded" : "loading";
  }

  get version(): string | null {
    return this.#library === undefined ? null : `node-llama-cpp ${this.#library.version}`;
  }

  busy(): boolean[] {
    const { slots } = this.#options;
    return this.#loaded?.pool.busy() ?? Array.from({ length: slots }, () => false);
  }

  /** Two at once load once. */
  async load(): Promise<void> {
    if (this.#loaded !== undefined) return;
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    await this.#loading;
  }

  async #load(): Promise<void> {
    const { module_dir, model_file, slots, slot_context, threads } = this.#options;
    this.#library ??= await loadLibrary(module_dir);
    const model = await this.#library.llama.loadModel({ modelPath: model_file });
    const context = await model.createContext({
      sequences: slots,
      contextSize: slot_context,
      ...(threads === null ? {} : { threads }),
    });
    const sequences = Array.from({ length: slots }, () => context.getSequence());
    this.facts = {
      size_bytes: model.size,
      quantization: quantization(model),
      train_context: model.trainContextSize,
    };
    this.#loaded = { model, context, pool: new SlotPool(sequences) };
  }

  async unload(): Promise<void> {
    await this.#loading;
    const loaded = this.#loaded;
    this.#loaded = undefined; // later requests load again
    if (loaded === undefined) return;
    while (!loaded.pool.idle) await this.#clock.sleep(20);
    await loaded.context.dispose();
    await loaded.model.dispose();
  }

  async generate(job: EngineJob): Promise<EngineResult> {
    await this.load();
    const loaded = this.#loaded;
    if (loaded === undefined) throw new Error("the model was unloaded in the meantime");
    const prompt = this.#prompt(loaded.model, job);
    if (prompt.length >= this.#options.slot_context) throw new ContextExceeded(prompt.length);
    return loaded.pool.use(job.signal, (sequence) => this.#answer(loaded, sequence, prompt, job));
  }

  #prompt(model: LlamaModel, { messages, tools }: EngineJob): Token[] {
    if (this.#library === undefined) throw new Error("no library is loaded");
    const { bos, bosString, eosString, shouldPrependBosToken } = model.tokens;
    const text = new this.#library.jinja.Template(chatTemplate(model)).render({
      messages: templateMessages(messages),
      ...(tools.length === 0 ? {} : { tools }),
      add_generation_prompt: true,
      bos_token: bosString ?? "",
      eos_token: eosString ?? "",
    });
    const tokens = model.tokenize(text, true);
    // Templates differ in whether they write the first token themselves.
    if (shouldPrependBosToken && bos !== null && tokens[0] !== bos) tokens.unshift(bos);
    return tokens;
  }

  async #answer(
    { model }: Loaded,
    sequence: Sequence,
    prompt: Token[],
    job: EngineJob,
  ): Promise<EngineResult> {
    const start_ms = this.#clock.monotonic_ms();
    const sampling = { ...job.sampling, ...(await this.#held(model, job.grammar)) };
    const cached = await this.#readPrompt(sequence, prompt, job, start_ms);
    const room = this.#options.slot_context - prompt.length;
    const limit = Math.min(job.max_tokens ?? room, room);
    const text = new TextOfTokens(model, prompt);
    let completion_tokens = 0;
    let first_ms: number | undefined;
    for await (const token of sequence.evaluate(prompt.slice(-1), sampling)) {
      job.signal.throwIfAborted();
      first_ms ??= this.#clock.monotonic_ms();
      completion_tokens += 1;
      job.onText(text.add(token));
      if (completion_tokens >= limit) break;
    }
    job.onText(text.rest());
    const end_ms = this.#clock.monotonic_ms();
    return {
      finish_reason: completion_tokens >= limit ? "length" : "stop",
      prompt_tokens: prompt.length,
      cached_tokens: cached,
      completion_tokens,
      prompt_ms: (first_ms ?? end_ms) - start_ms,
      predicted_ms: end_ms - (first_ms ?? end_ms),
    };
  }

  /** What holds an answer to its grammar, where it has one. */
  async #held(model: LlamaModel, grammar: string | null) {
    if (grammar === null || this.#library === undefined) return {};
    try {
      return { grammarEvaluationState: await this.#library.grammarState(model, grammar) };
    } catch (error) {
      throw new BadGrammar(`the grammar cannot be used: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Reads all of the prompt but its last token, which starts the answer. Gives the cached count. */
  async #readPrompt(
    sequence: Sequence,
    prompt: Token[],
    job: EngineJob,
    start_ms: number,
  ): Promise<number> {
    const body = prompt.slice(0, -1);
    if (job.cache_prompt) await sequence.adaptStateToTokens(body, false);
    else await sequence.clearHistory();
    const cache = Math.min(sequence.nextTokenIndex, body.length);
    const tell = (processed: number): void => {
      const time_ms = Math.round(this.#clock.monotonic_ms() - start_ms);
      job.onPrompt({ total: prompt.length, cache, processed, time_ms });
    };
    tell(cache);
    for (let at = cache; at < body.length; at += PROMPT_STEP) {
      job.signal.throwIfAborted();
      await sequence.evaluateWithoutGeneratingNewTokens(body.slice(at, at + PROMPT_STEP));
      tell(Math.min(at + PROMPT_STEP, body.length));
    }
    return cache;
  }
}
