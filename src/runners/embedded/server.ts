import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock } from "../../core/clock.ts";
import { errorMessage } from "../../core/errors.ts";
import type { UlidSource } from "../../core/ids.ts";
import { fieldsOf } from "../answer.ts";
import { readBody } from "../http.ts";
import { readChatRequest, type ChatRequest } from "./chat-request.ts";
import { ReplyStream, sendError, sendJson, sendWhole, type ReplyHead } from "./chat-reply.ts";
import { BadGrammar, ContextExceeded, type Engine, type EngineJob } from "./engine.ts";

export interface ServerOptions {
  engine: Engine;
  /** The id under which the model is served. */
  model_id: string;
  model_file: string;
  slots: number;
  slot_context: number;
  clock: Clock;
  new_id: UlidSource;
}

/** llama-server's HTTP interface around one engine: the parts that runners and people use. */
class EmbeddedServer {
  readonly #options: ServerOptions;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const route = `${request.method} ${path}`;
    if (route === "POST /models/load" || route === "POST /models/unload") {
      return this.#residency(route, request, response);
    }
    // As llama-server does: while the model loads, everything says so.
    if (this.#options.engine.state === "loading") {
      return sendError(response, 503, "unavailable_error", "Loading model");
    }
    if (route === "POST /v1/chat/completions") return this.#chat(request, response);
    const answers: Readonly<Record<string, () => unknown>> = {
      "GET /health": () => ({ status: "ok" }),
      "GET /props": () => this.#props(),
      "GET /slots": () => this.#slots(),
      "GET /v1/models": () => this.#models(),
    };
    const answer = answers[route];
    if (answer === undefined) return sendError(response, 404, "not_found_error", "File Not Found");
    sendJson(response, 200, answer());
  }

  #props(): unknown {
    const { slots, slot_context, model_id, model_file, engine } = this.#options;
    return {
      default_generation_settings: { n_ctx: slot_context },
      total_slots: slots,
      model_alias: model_id,
      model_path: model_file,
      build_info: engine.version,
      is_sleeping: engine.state === "unloaded",
    };
  }

  #slots(): unknown {
    const { engine, slot_context } = this.#options;
    return engine.busy().map((is_processing, id) => ({ id, n_ctx: slot_context, is_processing }));
  }

  #models(): unknown {
    const { model_id, slot_context, engine } = this.#options;
    const { facts } = engine;
    const meta =
      facts === null
        ? { n_ctx: slot_context }
        : {
            n_ctx: slot_context,
            n_ctx_train: facts.train_context,
            size: facts.size_bytes,
            ...(facts.quantization === null ? {} : { ftype: facts.quantization }),
          };
    const status = { value: engine.state };
    return { object: "list", data: [{ id: model_id, aliases: [model_id], status, meta }] };
  }

  #otherModel(name: unknown): string | undefined {
    const { model_id } = this.#options;
    if (name === undefined || name === null || name === model_id) return undefined;
    return `model ${JSON.stringify(name)} not found: this server has ${model_id}`;
  }

  async #residency(
    route: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    let body: unknown;
    try {
      body = JSON.parse(await readBody(request));
    } catch {
      return sendError(response, 400, "invalid_request_error", "the body is not JSON");
    }
    const other = this.#otherModel(fieldsOf(body)["model"]);
    if (other !== undefined) return sendError(response, 404, "not_found_error", other);
    const { engine } = this.#options;
    await (route === "POST /models/load" ? engine.load() : engine.unload());
    sendJson(response, 200, { success: true });
  }

  async #chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = readChatRequest(await readBody(request));
    if (typeof asked === "string") {
      return sendError(response, 400, "invalid_request_error", asked);
    }
    const other = this.#otherModel(asked.model);
    if (other !== undefined) return sendError(response, 404, "not_found_error", other);
    const left = new AbortController();
    response.once("close", () => left.abort());
    await this.#answer(asked, response, left.signal);
  }

  #head(): ReplyHead {
    const { clock, new_id, model_id, engine } = this.#options;
    return {
      id: `chatcmpl-${new_id()}`,
      created: Math.floor(clock.now_ms() / 1000),
      model: model_id,
      fingerprint: engine.version ?? "",
    };
  }

  async #answer(asked: ChatRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const head = this.#head();
    const stream = new ReplyStream(response, head);
    const texts: string[] = [];
    const job: EngineJob = {
      ...asked,
      signal,
      onPrompt: (progress) => {
        if (asked.stream && asked.return_progress) stream.progress(progress);
      },
      onText: (text) => {
        if (text === "") return;
        if (asked.stream) stream.text(text);
        else texts.push(text);
      },
    };
    try {
      const result = await this.#options.engine.generate(job);
      if (asked.stream) stream.finish(result, asked.include_usage);
      else sendWhole(response, head, texts.join(""), result);
    } catch (error) {
      this.#fail(error, response, stream, signal);
    }
  }

  #fail(error: unknown, response: ServerResponse, stream: ReplyStream, signal: AbortSignal): void {
    if (signal.aborted) return; // nobody is there to be told
    if (error instanceof ContextExceeded) {
      const n_ctx = this.#options.slot_context;
      const n_prompt_tokens = error.prompt_tokens;
      const message = `request (${n_prompt_tokens} tokens) exceeds the available context size (${n_ctx} tokens)`;
      sendError(response, 400, "exceed_context_size_error", message, { n_prompt_tokens, n_ctx });
    } else if (error instanceof BadGrammar) {
      sendError(response, 400, "invalid_request_error", error.message);
    } else if (response.headersSent) stream.fail(errorMessage(error));
    else sendError(response, 500, "server_error", errorMessage(error));
  }
}

/** Makes the server; the caller lets it listen and loads the engine. */
export function embeddedServer(options: ServerOptions): Server {
  const server = new EmbeddedServer(options);
  return createServer((request, response) => {
    server.handle(request, response).catch((error: unknown) => {
      if (!response.headersSent) sendError(response, 500, "server_error", errorMessage(error));
      else response.destroy();
    });
  });
}
