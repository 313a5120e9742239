import { fieldsOf, listOf, numberOf, textOf, type Fields } from "./answer.ts";
import { Adapter, notLoaded } from "./adapter.ts";
import { exchange } from "./exchange.ts";
import { fault } from "./fault.ts";
import { callJson, type JsonAnswer } from "./http.ts";
import {
  launchSettings,
  ollamaBody,
  ollamaDialect,
  ollamaOptions,
  sameOllamaModel,
} from "./ollama-chat.ts";
import { poll, type Look } from "./poll.ts";
import type {
  Fault,
  GenerateRequest,
  GenerateResult,
  LoadedModels,
  LoadOptions,
  LoadResult,
  Runner,
  RunnerStatus,
  ServedModel,
  UnloadResult,
} from "./runner.ts";
import { ASK_LIMIT_S, notServed } from "./v1.ts";
import { generateResult, withFault } from "./verdict.ts";

/**
 * How long a model stays after its last request: longer than any pause inside a run, but it does
 * not keep a person's memory for ever when we die before we can unload it.
 */
const KEEP_ALIVE = "1h";
/** A request that holds the model ends first; then memory is given back. */
const UNLOAD_LIMIT_S = 60;

interface OllamaModel {
  name: string;
  fields: Fields;
}

function modelEntries(value: unknown): OllamaModel[] {
  return listOf(fieldsOf(value)["models"]).flatMap((entry) => {
    const fields = fieldsOf(entry);
    const name = textOf(fields["name"]) ?? textOf(fields["model"]);
    return name === null ? [] : [{ name, fields }];
  });
}

function servedModel(model: OllamaModel, running: readonly OllamaModel[]): ServedModel {
  const loaded = running.find(({ name }) => sameOllamaModel(name, model.name));
  return {
    id: model.name,
    digest: textOf(model.fields["digest"]),
    size_bytes: numberOf(model.fields["size"]),
    quantization: textOf(fieldsOf(model.fields["details"])["quantization_level"]),
    context_length: loaded === undefined ? null : numberOf(loaded.fields["context_length"]),
    loaded: loaded !== undefined,
  };
}

/** Ollama by its own API. It does not say how many requests it serves at once. */
export class OllamaRunner extends Adapter implements Runner {
  readonly residency = "managed";

  #ask(path: string, limit_s = ASK_LIMIT_S): Promise<JsonAnswer> {
    return callJson(this.endpoint, { method: "GET", path, limit_s }, this.clock);
  }

  async status(limit_s = ASK_LIMIT_S): Promise<RunnerStatus> {
    const version = await this.#ask("/api/version", limit_s);
    if (!version.ok) return this.noStatus(version.fault);
    const [tags, running] = [
      await this.#ask("/api/tags", limit_s),
      await this.#ask("/api/ps", limit_s),
    ];
    const inMemory = running.ok ? modelEntries(running.value) : [];
    return {
      reachable: true,
      reason: tags.ok ? null : tags.fault.message,
      loading: false,
      version: textOf(fieldsOf(version.value)["version"]),
      models: tags.ok
        ? modelEntries(tags.value).map((model) => servedModel(model, inMemory))
        : null,
      ...this.slotFields(null),
    };
  }

  async findFault(model: string): Promise<Fault | null> {
    const tags = await this.#ask("/api/tags");
    if (!tags.ok) return tags.fault;
    const names = modelEntries(tags.value).map(({ name }) => name);
    return names.some((name) => sameOllamaModel(name, model)) ? null : notServed(model, names);
  }

  async loaded(): Promise<LoadedModels> {
    const running = await this.#ask("/api/ps");
    if (!running.ok) return notLoaded(running.fault);
    return { models: modelEntries(running.value).map(({ name }) => name), reason: null };
  }

  /**
   * An empty chat loads. `extra_body` must be the one of the later requests: another context or
   * batch size than the loaded one makes Ollama load the model again.
   */
  async load(model: string, options: LoadOptions): Promise<LoadResult> {
    const start_ms = this.clock.monotonic_ms();
    const answer = await callJson(
      this.endpoint,
      {
        method: "POST",
        path: "/api/chat",
        body: {
          model,
          messages: [],
          stream: false,
          keep_alive: KEEP_ALIVE,
          ...launchSettings(options.extra_body ?? {}),
          options: ollamaOptions(options.extra_body ?? {}),
        },
        limit_s: options.limit_s,
        signal: options.signal,
      },
      this.clock,
    );
    return this.loadResult(start_ms, answer.ok ? null : answer.fault);
  }

  async unload(model?: string): Promise<UnloadResult> {
    const before = await this.loaded();
    if (before.models === null) return { outcome: "failed", reason: before.reason };
    for (const name of model === undefined ? before.models : [model]) {
      const reason = await this.#unloadOne(name);
      if (reason !== null) return { outcome: "failed", reason };
    }
    return { outcome: "ok", reason: null };
  }

  /** null when it is gone. The answer comes at once, the memory later: `/api/ps` tells. */
  async #unloadOne(model: string): Promise<string | null> {
    const answer = await callJson(
      this.endpoint,
      {
        method: "POST",
        path: "/api/generate",
        body: { model, keep_alive: 0, stream: false },
        limit_s: UNLOAD_LIMIT_S,
      },
      this.clock,
    );
    if (!answer.ok) return answer.fault.message;
    const look = async (): Promise<Look> => {
      const { models, reason } = await this.loaded();
      if (models === null) return { state: "failed", fault: fault("unreachable", reason ?? "") };
      if (!models.some((name) => sameOllamaModel(name, model))) return { state: "done" };
      return { state: "wait", fault: fault("busy", `"${model}" is still in memory`) };
    };
    const held = await poll(look, { limit_s: UNLOAD_LIMIT_S }, this.clock);
    return held?.message ?? null;
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    const outcome = await exchange(
      {
        endpoint: this.endpoint,
        path: "/api/chat",
        body: ollamaBody(request, KEEP_ALIVE),
        dialect: ollamaDialect,
        request,
      },
      this.clock,
    );
    const result = generateResult(outcome, request.messages);
    const answered = result.answered_model;
    const wrong = answered !== null && !sameOllamaModel(answered, request.model);
    return withFault(
      result,
      wrong
        ? fault("wrong_model", `asked for "${request.model}", answered by "${answered}"`)
        : null,
    );
  }
}
