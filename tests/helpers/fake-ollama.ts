import {
  fakeServer,
  type FakeServer,
  type Recorded,
  type Reply,
  type Responder,
  type Step,
} from "./fake-http.ts";

export interface FakeOllama extends FakeServer {
  /** Full names of the models in memory. */
  in_memory: Set<string>;
}

export interface FakeOllamaOptions {
  models?: string[];
  /** Answer to a chat with messages; undefined = a well-formed answer. */
  chat?: (request: Recorded, count: number) => Reply | undefined | Promise<Reply | undefined>;
  /** Answer to a request that loads; undefined = loads at once. */
  load?: (request: Recorded) => Reply | undefined | Promise<Reply | undefined>;
  /** How many looks at `/api/ps` still show a model after it was unloaded. */
  unload_looks?: number;
  /** A socket that listens already [one of its own, on a free port]. */
  fd?: number;
}

const HEADERS = { "content-type": "application/x-ndjson" };

export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

export function ollamaPiece(
  message: { content?: string; thinking?: string },
  model = "fake",
): string {
  return line({ model, message: { role: "assistant", content: "", ...message }, done: false });
}

/** The last object, with durations in nanoseconds. */
export function ollamaFinal(more: Record<string, unknown> = {}): string {
  return line({
    model: "fake",
    message: { role: "assistant", content: "" },
    done: true,
    done_reason: "stop",
    total_duration: 5_000_000_000,
    load_duration: 1_000_000_000,
    prompt_eval_count: 50,
    prompt_eval_duration: 2_000_000_000,
    eval_count: 2,
    eval_duration: 1_500_000_000,
    ...more,
  });
}

export function ollamaStream(steps: readonly Step[]): Reply {
  return { headers: HEADERS, steps };
}

function fullName(name: unknown): string {
  const text = String(name);
  return text.includes(":") ? text : `${text}:latest`;
}

function entry(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const details = { quantization_level: "Q4_K_M" };
  return { name, model: name, digest: "d".repeat(64), size: 2_019_393_189, details, ...more };
}

/** Ollama's API with a memory that can be looked at. */
export async function fakeOllama(options: FakeOllamaOptions = {}): Promise<FakeOllama> {
  const models = (options.models ?? ["fake"]).map((name) => fullName(name));
  const in_memory = new Set<string>();
  const leaving = new Map<string, number>();
  let count = 0;
  const running = (): string[] => {
    for (const [name, looks] of leaving) {
      if (looks > 0) leaving.set(name, looks - 1);
      else if (leaving.delete(name)) in_memory.delete(name);
    }
    return [...in_memory];
  };
  const chat = async (request: Recorded): Promise<Reply> => {
    const name = fullName(request.body?.["model"]);
    if (!models.includes(name)) {
      const error = `model "${name}" not found, try pulling it first`;
      return { status: 404, body: { error } };
    }
    const messages = request.body?.["messages"];
    if (Array.isArray(messages) && messages.length === 0) {
      const scripted = await options.load?.(request);
      if (scripted !== undefined) return scripted;
      in_memory.add(name);
      return { body: { model: name, message: {}, done: true, done_reason: "load" } };
    }
    in_memory.add(name);
    count += 1;
    const model = String(request.body?.["model"]);
    return (
      (await options.chat?.(request, count)) ??
      ollamaStream([
        { write: ollamaPiece({ content: "Hello" }, model) },
        { write: ollamaPiece({ content: " world" }, model) },
        { write: ollamaFinal({ model }) },
      ])
    );
  };
  const { fd } = options;
  const answer: Responder = async (request) => {
    switch (request.path) {
      case "/api/version":
        return { body: { version: "0.30.1" } };
      case "/api/tags":
        return { body: { models: models.map((name) => entry(name)) } };
      case "/api/ps": {
        const shown = running().map((name) => entry(name, { context_length: 4096 }));
        return { body: { models: shown } };
      }
      case "/api/generate":
        if (request.body?.["keep_alive"] === 0) {
          leaving.set(fullName(request.body["model"]), options.unload_looks ?? 0);
        }
        return { body: { done: true, done_reason: "unload" } };
      case "/api/chat":
        return chat(request);
      default:
        return undefined;
    }
  };
  const server = await fakeServer(answer, fd === undefined ? undefined : { fd });
  return Object.assign(server, { in_memory });
}
