import type { JsonValue } from "../core/json.ts";
import type { Clock } from "../core/clock.ts";
import { fieldsOf, listOf, numberOf, textOf, type Fields } from "./answer.ts";
import { chatBody, chatDialect } from "./chat.ts";
import { exchange } from "./exchange.ts";
import { fault } from "./fault.ts";
import { callJson, type Endpoint } from "./http.ts";
import type { Fault, GenerateRequest, GenerateResult, ServedModel } from "./runner.ts";
import { generateResult, withFault } from "./verdict.ts";

/** How long a server that is well may take to say what it serves. */
export const ASK_LIMIT_S = 5;

/** A model as `/v1/models` lists it, under all its names. */
export interface ListedModel extends ServedModel {
  names: readonly string[];
}

export type ModelList = { ok: true; models: ListedModel[] } | { ok: false; fault: Fault };

/** Routers (and our own embedded server) say for each model whether it is in memory. */
function loadedState(entry: Fields): boolean | null {
  const state = textOf(fieldsOf(entry["status"])["value"]);
  return state === null ? null : state === "loaded" || state === "sleeping";
}

function listedModel(value: unknown): ListedModel | undefined {
  const entry = fieldsOf(value);
  const id = textOf(entry["id"]);
  if (id === null) return undefined;
  const meta = fieldsOf(entry["meta"]);
  return {
    id,
    names: [id, ...listOf(entry["aliases"]).filter((name) => typeof name === "string")],
    digest: null,
    size_bytes: numberOf(meta["size"]),
    quantization: textOf(meta["ftype"]),
    // vLLM says max_model_len, llama-server n_ctx: both are what one request may use.
    context_length: numberOf(meta["n_ctx"]) ?? numberOf(entry["max_model_len"]),
    loaded: loadedState(entry),
  };
}

export async function listModels(
  endpoint: Endpoint,
  clock: Clock,
  options: { limit_s?: number; signal?: AbortSignal | undefined } = {},
): Promise<ModelList> {
  const { limit_s = ASK_LIMIT_S, signal } = options;
  const answer = await callJson(
    endpoint,
    { method: "GET", path: "/v1/models", limit_s, signal },
    clock,
  );
  if (!answer.ok) return answer;
  const { data } = fieldsOf(answer.value);
  if (!Array.isArray(data)) {
    return { ok: false, fault: fault("bad_response", "/v1/models has no list of models") };
  }
  const models = data.map((entry) => listedModel(entry)).filter((model) => model !== undefined);
  return { ok: true, models };
}

export function findModel(models: readonly ListedModel[], name: string): ListedModel | undefined {
  return models.find((model) => model.names.includes(name));
}

/** Longest list of names in a message; a hub may serve hundreds. */
const NAMES_SHOWN = 10;

export function notServed(model: string, names: readonly string[]): Fault {
  const shown = names.slice(0, NAMES_SHOWN).join(", ");
  const rest = names.length > NAMES_SHOWN ? ` and ${names.length - NAMES_SHOWN} more` : "";
  const served = names.length === 0 ? "it serves none" : `it serves ${shown}${rest}`;
  return fault("model_not_found", `the runner does not serve "${model}": ${served}`);
}

/**
 * Asked before the first request, because llama-server answers to any name with the model that it
 * has loaded.
 */
export async function findModelFault(
  endpoint: Endpoint,
  model: string,
  clock: Clock,
): Promise<Fault | null> {
  const list = await listModels(endpoint, clock);
  if (!list.ok) return list.fault;
  if (findModel(list.models, model) !== undefined) return null;
  return notServed(
    model,
    list.models.map(({ id }) => id),
  );
}

/** `gpt-x` may be answered by `gpt-x-2025-08-07`: the dated name of the same model. */
function datedName(asked: string, answered: string): boolean {
  return (
    answered.startsWith(`${asked}-`) && /^-\d{4}-?\d{2}-?\d{2}$/.test(answered.slice(asked.length))
  );
}

/** The answer carries another name than was asked for: two names of one model, or another model. */
async function wrongModelFault(
  endpoint: Endpoint,
  asked: string,
  answered: string | null,
  clock: Clock,
): Promise<Fault | null> {
  if (answered === null || answered === asked || datedName(asked, answered)) return null;
  const list = await listModels(endpoint, clock);
  if (list.ok) {
    const model = findModel(list.models, asked);
    if (model?.names.includes(answered) === true) return null;
  }
  return fault("wrong_model", `asked for "${asked}", answered by "${answered}"`);
}

/** One streamed request to `/v1/chat/completions`. */
export async function generateChat(
  endpoint: Endpoint,
  request: GenerateRequest,
  clock: Clock,
  more: Readonly<Record<string, JsonValue>> = {},
): Promise<GenerateResult> {
  const outcome = await exchange(
    {
      endpoint,
      path: "/v1/chat/completions",
      body: chatBody(request, more),
      dialect: chatDialect,
      request,
    },
    clock,
  );
  const result = generateResult(outcome, request.messages);
  if (!result.ok) return result;
  const wrong = await wrongModelFault(endpoint, request.model, result.answered_model, clock);
  return withFault(result, wrong);
}
