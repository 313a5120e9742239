import { fieldsOf, textOf } from "./answer.ts";
import { Adapter, FIXED_UNLOAD, notLoaded } from "./adapter.ts";
import { callJson } from "./http.ts";
import { passing, poll, type Look } from "./poll.ts";
import type {
  Fault,
  GenerateRequest,
  GenerateResult,
  LoadedModels,
  LoadOptions,
  LoadResult,
  Runner,
  RunnerStatus,
  UnloadResult,
} from "./runner.ts";
import { ASK_LIMIT_S, findModelFault, generateChat, listModels } from "./v1.ts";

/** Any server with OpenAI's `/v1`: vLLM, LM Studio's own `/v1`, and others. */
export class OpenAiRunner extends Adapter implements Runner {
  readonly residency = "fixed";

  async status(limit_s = ASK_LIMIT_S): Promise<RunnerStatus> {
    const list = await listModels(this.endpoint, this.clock, { limit_s });
    if (!list.ok) return this.noStatus(list.fault);
    return {
      reachable: true,
      reason: null,
      loading: false,
      version: await this.#version(limit_s),
      models: list.models.map(({ names: _names, ...model }) => model),
      ...this.slotFields(null),
    };
  }

  /** vLLM has `/version` beside `/v1`; who has not is of unknown version. */
  async #version(limit_s: number): Promise<string | null> {
    const endpoint = { ...this.endpoint, url: this.endpoint.url.replace(/\/v1\/*$/, "") };
    const answer = await callJson(
      endpoint,
      { method: "GET", path: "/version", limit_s },
      this.clock,
    );
    return answer.ok ? textOf(fieldsOf(answer.value)["version"]) : null;
  }

  async findFault(model: string): Promise<Fault | null> {
    return findModelFault(this.endpoint, model, this.clock);
  }

  async loaded(): Promise<LoadedModels> {
    const list = await listModels(this.endpoint, this.clock);
    if (!list.ok) return notLoaded(list.fault);
    return { models: null, reason: "the /v1 interface does not tell what is in memory" };
  }

  /** Waits until the server lists the model. */
  async load(model: string, options: LoadOptions): Promise<LoadResult> {
    const start_ms = this.clock.monotonic_ms();
    const look = async (): Promise<Look> => {
      const trouble = await this.findFault(model);
      if (trouble === null) return { state: "done" };
      return { state: passing(trouble) ? "wait" : "failed", fault: trouble };
    };
    return this.loadResult(start_ms, await poll(look, options, this.clock));
  }

  async unload(): Promise<UnloadResult> {
    return FIXED_UNLOAD;
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    return generateChat(this.endpoint, request, this.clock);
  }
}
