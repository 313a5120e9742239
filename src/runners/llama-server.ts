import { fieldsOf, listOf, numberOf, textOf } from "./answer.ts";
import { Adapter, FIXED_UNLOAD, notLoaded, type RunnerDeps } from "./adapter.ts";
import { fault } from "./fault.ts";
import { callJson } from "./http.ts";
import { passing, poll, type Look } from "./poll.ts";
import type {
  Fault,
  GenerateRequest,
  GenerateResult,
  LoadedModels,
  LoadOptions,
  LoadResult,
  Residency,
  Runner,
  RunnerSettings,
  RunnerStatus,
  ServedModel,
  UnloadResult,
} from "./runner.ts";
import {
  ASK_LIMIT_S,
  findModel,
  findModelFault,
  generateChat,
  listModels,
  notServed,
  type ListedModel,
} from "./v1.ts";

/** How long a model may take to leave memory after it was told to. */
const UNLOAD_LIMIT_S = 60;

function servedModel(model: ListedModel, fixed: boolean, slot_context: number | null): ServedModel {
  const { names: _names, ...served } = model;
  return {
    ...served,
    // `/props` says what one slot really got; the list may say what the model was trained for.
    context_length: slot_context ?? served.context_length,
    loaded: served.loaded ?? (fixed ? true : null),
  };
}

/**
 * llama.cpp's server. It holds the model that it was started with; our embedded server speaks the
 * same API and can let go of its model (`managed`).
 */
export class LlamaServerRunner extends Adapter implements Runner {
  readonly residency: Residency;

  constructor(settings: RunnerSettings, url: string, deps: RunnerDeps, residency: Residency) {
    super(settings, url, deps);
    this.residency = residency;
  }

  async status(limit_s = ASK_LIMIT_S): Promise<RunnerStatus> {
    const list = await listModels(this.endpoint, this.clock, { limit_s });
    if (!list.ok) return this.noStatus(list.fault);
    const props = await this.#get("/props", limit_s);
    const fields = fieldsOf(props);
    const slotContext = numberOf(fieldsOf(fields["default_generation_settings"])["n_ctx"]);
    return {
      reachable: true,
      reason: null,
      loading: false,
      version: textOf(fields["build_info"]),
      models: list.models.map((model) =>
        servedModel(
          model,
          this.residency === "fixed",
          list.models.length === 1 ? slotContext : null,
        ),
      ),
      ...this.slotFields(numberOf(fields["total_slots"]) ?? (await this.#countSlots(limit_s))),
    };
  }

  /** Also `/slots` tells, on servers whose `/props` does not or is switched off. */
  async #countSlots(limit_s: number): Promise<number | null> {
    const slots = listOf(await this.#get("/slots", limit_s));
    return slots.length === 0 ? null : slots.length;
  }

  async #get(path: string, limit_s: number): Promise<unknown> {
    const answer = await callJson(this.endpoint, { method: "GET", path, limit_s }, this.clock);
    return answer.ok ? answer.value : undefined;
  }

  async findFault(model: string): Promise<Fault | null> {
    return findModelFault(this.endpoint, model, this.clock);
  }

  async loaded(): Promise<LoadedModels> {
    const list = await listModels(this.endpoint, this.clock);
    if (!list.ok) return notLoaded(list.fault);
    const fixed = this.residency === "fixed";
    const models = list.models.filter(({ loaded }) => loaded ?? fixed).map(({ id }) => id);
    return { models, reason: null };
  }

  async load(model: string, options: LoadOptions): Promise<LoadResult> {
    const start_ms = this.clock.monotonic_ms();
    if (this.residency === "managed") {
      const asked = await this.#command("/models/load", model, options.limit_s, options.signal);
      if (asked !== null) return this.loadResult(start_ms, asked);
    }
    const trouble = await poll(() => this.#lookLoaded(model), options, this.clock);
    return this.loadResult(start_ms, trouble);
  }

  async #lookLoaded(model: string): Promise<Look> {
    const list = await listModels(this.endpoint, this.clock);
    if (!list.ok) return { state: passing(list.fault) ? "wait" : "failed", fault: list.fault };
    const found = findModel(list.models, model);
    if (found === undefined) {
      return {
        state: "failed",
        fault: notServed(
          model,
          list.models.map(({ id }) => id),
        ),
      };
    }
    if (found.loaded === false) {
      return { state: "wait", fault: fault("loading", `"${model}" is not loaded yet`) };
    }
    return { state: "done" };
  }

  /** null where the server took the command. */
  async #command(
    path: string,
    model: string,
    limit_s: number,
    signal?: AbortSignal,
  ): Promise<Fault | null> {
    const call = { method: "POST", path, body: { model }, limit_s, signal } as const;
    const answer = await callJson(this.endpoint, call, this.clock);
    return answer.ok ? null : answer.fault;
  }

  async unload(model?: string): Promise<UnloadResult> {
    if (this.residency === "fixed") return FIXED_UNLOAD;
    const before = await this.loaded();
    if (before.models === null) return { outcome: "failed", reason: before.reason };
    for (const name of model === undefined ? before.models : [model]) {
      const trouble = await this.#command("/models/unload", name, UNLOAD_LIMIT_S);
      if (trouble !== null) return { outcome: "failed", reason: trouble.message };
      const held = await poll(() => this.#lookGone(name), { limit_s: UNLOAD_LIMIT_S }, this.clock);
      if (held !== null) return { outcome: "failed", reason: held.message };
    }
    return { outcome: "ok", reason: null };
  }

  async #lookGone(model: string): Promise<Look> {
    const { models, reason } = await this.loaded();
    if (models === null) return { state: "failed", fault: fault("unreachable", reason ?? "") };
    if (!models.includes(model)) return { state: "done" };
    return { state: "wait", fault: fault("busy", `"${model}" is still in memory`) };
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    // Without progress a long prefill is silence, and cannot be told from a server that hangs.
    return generateChat(this.endpoint, request, this.clock, { return_progress: true });
  }
}
