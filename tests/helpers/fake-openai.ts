import {
  fakeServer,
  type FakeServer,
  type Recorded,
  type Reply,
  type Responder,
  type Step,
} from "./fake-http.ts";

export interface FakeOpenAiOptions {
  /** Names under which models are served; the first answers to everything. */
  models?: string[];
  /** Answer to a chat request; undefined = a well-formed answer. Called with 1, 2 ... */
  chat?: (request: Recorded, count: number) => Reply | undefined | Promise<Reply | undefined>;
  version?: string;
  /** A socket that listens already [one of its own, on a free port]. */
  fd?: number;
}

const STREAM_HEADERS = { "content-type": "text/event-stream" };

export function sse(data: unknown): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

export interface PieceOptions {
  model?: string;
  content?: string;
  reasoning?: string;
  reasoning_content?: string;
  finish_reason?: string;
}

/** One piece of a streamed chat answer. */
export function piece(options: PieceOptions): string {
  const { model = "fake", finish_reason = null, ...delta } = options;
  return sse({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
}

export interface UsageOptions {
  model?: string;
  prompt_tokens?: number;
  completion_tokens?: number;
  cached_tokens?: number;
  reasoning_tokens?: number;
}

export function usagePiece(options: UsageOptions = {}): string {
  const { model = "fake", prompt_tokens = 50, completion_tokens = 2 } = options;
  return sse({
    model,
    choices: [],
    usage: {
      prompt_tokens,
      completion_tokens,
      ...(options.cached_tokens === undefined
        ? {}
        : { prompt_tokens_details: { cached_tokens: options.cached_tokens } }),
      ...(options.reasoning_tokens === undefined
        ? {}
        : { completion_tokens_details: { reasoning_tokens: options.reasoning_tokens } }),
    },
  });
}

/** What ends a good answer: finish reason, usage, end mark. */
export function ending(usage: UsageOptions = {}): Step[] {
  const { model = "fake" } = usage;
  return [
    { write: piece({ model, finish_reason: "stop" }) },
    { write: usagePiece(usage) },
    { write: sse("[DONE]") },
  ];
}

export function streamed(steps: readonly Step[]): Reply {
  return { headers: STREAM_HEADERS, steps };
}

/** `Hello world` in two pieces, with everything that belongs to it. */
export function goodChat(model: string, text = ["Hello", " world"]): Reply {
  return streamed([
    ...text.map((content) => ({ write: piece({ model, content }) })),
    ...ending({ model, completion_tokens: text.length }),
  ]);
}

/** A server with OpenAI's `/v1`, as vLLM has it. */
export function fakeOpenAi(options: FakeOpenAiOptions = {}): Promise<FakeServer> {
  const { models = ["fake"], chat, version, fd } = options;
  let count = 0;
  const answer: Responder = async (request) => {
    if (request.path === "/v1/models") {
      return { body: { object: "list", data: models.map((id) => ({ id, max_model_len: 4096 })) } };
    }
    if (request.path === "/version" && version !== undefined) return { body: { version } };
    if (request.path !== "/v1/chat/completions") return undefined;
    count += 1;
    return (await chat?.(request, count)) ?? goodChat(models[0] ?? "fake");
  };
  return fakeServer(answer, fd === undefined ? undefined : { fd });
}
