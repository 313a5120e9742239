import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fieldsOf, numberOf, textOf } from "../answer.ts";

/**
 * The parts of node-llama-cpp that are used here. It is no dependency of this package: it is
 * installed once per user, and only where somebody wants it.
 */
export type Token = number & { readonly token: unique symbol };

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  seed?: number;
}

export interface Sequence {
  readonly nextTokenIndex: number;
  adaptStateToTokens(tokens: Token[], allow_shift: boolean): Promise<void>;
  clearHistory(): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: Token[]): Promise<void>;
  evaluate(tokens: Token[], options: Sampling): AsyncGenerator<Token, void, void>;
}

interface Context {
  readonly contextSize: number;
  getSequence(): Sequence;
  dispose(): Promise<void>;
}

interface Model {
  readonly size: number;
  readonly trainContextSize: number;
  readonly typeDescription: string;
  readonly fileInfo: { readonly metadata: unknown };
  readonly tokens: {
    readonly bos: Token | null;
    readonly bosString: string | null;
    readonly eosString: string | null;
    readonly shouldPrependBosToken: boolean;
  };
  tokenize(text: string, special_tokens: boolean): Token[];
  detokenize(tokens: readonly Token[], special: boolean, last: readonly Token[]): string;
  createContext(options: {
    sequences: number;
    contextSize: number;
    threads?: number;
  }): Promise<Context>;
  dispose(): Promise<void>;
}

interface Llama {
  loadModel(options: { modelPath: string }): Promise<Model>;
}

interface Library {
  getLlama(options: {
    gpu: false | "auto";
    build: "never";
    skipDownload: boolean;
    logLevel: "warn";
  }): Promise<Llama>;
}

interface Jinja {
  Template: new (source: string) => { render(values: Record<string, unknown>): string };
}

export type { Context as LlamaContext, Model as LlamaModel };

/** A dependency of the library, not of ours: resolved from where the library lies. */
const TEMPLATES = "@huggingface/jinja";

export interface LoadedLibrary {
  llama: Llama;
  jinja: Jinja;
  version: string;
}

/** Loads the library from where it was installed. Only macOS has a GPU build among ours (Metal). */
export async function loadLibrary(module_dir: string): Promise<LoadedLibrary> {
  const root = join(module_dir, "node_modules", "node-llama-cpp");
  const entry = join(root, "dist", "index.js");
  const library = (await import(pathToFileURL(entry).href)) as Library;
  const require = createRequire(entry);
  const llama = await library.getLlama({
    gpu: process.platform === "darwin" ? "auto" : false,
    build: "never",
    skipDownload: true,
    logLevel: "warn",
  });
  const manifest: unknown = require(join(root, "package.json"));
  return {
    llama,
    // Chat templates are Jinja; the library brings the interpreter along.
    jinja: require(TEMPLATES) as Jinja,
    version: textOf(fieldsOf(manifest)["version"]) ?? "unknown",
  };
}

/** What most models without a template of their own were trained with. */
const CHATML =
  "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}" +
  "<|im_start|>assistant\n";

export function chatTemplate(model: Model): string {
  const tokenizer = fieldsOf(fieldsOf(model.fileInfo.metadata)["tokenizer"]);
  return textOf(tokenizer["chat_template"]) ?? CHATML;
}

/** `general.file_type` of the file, by the names that people know. */
const FILE_TYPES: Readonly<Record<number, string>> = {
  0: "F32",
  1: "F16",
  2: "Q4_0",
  7: "Q8_0",
  14: "Q4_K_S",
  15: "Q4_K_M",
  16: "Q5_K_S",
  17: "Q5_K_M",
  18: "Q6_K",
};

export function quantization(model: Model): string | null {
  const general = fieldsOf(fieldsOf(model.fileInfo.metadata)["general"]);
  return FILE_TYPES[numberOf(general["file_type"]) ?? -1] ?? null;
}
