import type { ServerResponse } from "node:http";
import type { EngineResult } from "./engine.ts";

/** What every piece of one answer carries. */
export interface ReplyHead {
  id: string;
  created: number;
  model: string;
  fingerprint: string;
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) return;
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    connection: "close",
  });
  response.end(body);
}

export function sendError(
  response: ServerResponse,
  status: number,
  type: string,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
): void {
  sendJson(response, status, { error: { code: status, message, type, ...more } });
}

function usage(result: EngineResult): Record<string, unknown> {
  return {
    completion_tokens: result.completion_tokens,
    prompt_tokens: result.prompt_tokens,
    total_tokens: result.prompt_tokens + result.completion_tokens,
    prompt_tokens_details: { cached_tokens: result.cached_tokens },
  };
}

function timings(result: EngineResult): Record<string, unknown> {
  return {
    cache_n: result.cached_tokens,
    prompt_n: result.prompt_tokens - result.cached_tokens,
    prompt_ms: result.prompt_ms,
    predicted_n: result.completion_tokens,
    predicted_ms: result.predicted_ms,
  };
}

function common(head: ReplyHead, object: string): Record<string, unknown> {
  const { id, created, model, fingerprint } = head;
  return { created, id, model, system_fingerprint: fingerprint, object };
}

/** The whole answer in one document, for who did not ask for a stream. */
export function sendWhole(
  response: ServerResponse,
  head: ReplyHead,
  text: string,
  result: EngineResult,
): void {
  const message = { role: "assistant", content: text };
  sendJson(response, 200, {
    choices: [{ finish_reason: result.finish_reason, index: 0, message }],
    ...common(head, "chat.completion"),
    usage: usage(result),
    timings: timings(result),
  });
}

/** Writes one answer as server-sent events. Nothing is sent before the first event. */
export class ReplyStream {
  readonly #response: ServerResponse;
  readonly #head: ReplyHead;

  constructor(response: ServerResponse, head: ReplyHead) {
    this.#response = response;
    this.#head = head;
  }

  #event(data: unknown): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "text/event-stream", connection: "close" });
      this.#piece({ role: "assistant", content: null }, null, {});
    }
    this.#response.write(`data: ${JSON.stringify(data)}\n\n`);
  }

  #piece(delta: unknown, finish_reason: string | null, more: Record<string, unknown>): void {
    this.#event({
      choices: [{ finish_reason, index: 0, delta }],
      ...common(this.#head, "chat.completion.chunk"),
      ...more,
    });
  }

  progress(prompt_progress: unknown): void {
    this.#piece({ role: "assistant", content: null }, null, { prompt_progress });
  }

  text(content: string): void {
    this.#piece({ content }, null, {});
  }

  finish(result: EngineResult, include_usage: boolean): void {
    this.#piece({}, result.finish_reason, {});
    if (include_usage) {
      this.#event({
        choices: [],
        ...common(this.#head, "chat.completion.chunk"),
        usage: usage(result),
        timings: timings(result),
      });
    }
    this.#response.end("data: [DONE]\n\n");
  }

  /** Trouble after the status was sent: an event says it, and no end mark follows. */
  fail(message: string): void {
    this.#event({ error: { code: 500, message, type: "server_error" } });
    this.#response.end();
  }
}
