import { quickOutput } from "../core/quick-command.ts";
import { fieldsOf, listOf, textOf } from "./fields.ts";
import {
  DECLARE,
  hiccup,
  no,
  slotsOf,
  wrongModel,
  type LiveAnswer,
  type RunnerQuestion,
} from "./live-answer.ts";
import { lmStudioModels, parseLmsPs } from "./lm-studio.ts";
import { plainGet, plainJson } from "./plain-get.ts";

interface Loaded {
  slots: number | null;
  context: number | null;
  quantization: string | null;
}

/** The model in LM Studio's memory that goes by `id`, its own or that of an instance. */
function studioModel(value: unknown, id: string): Loaded | undefined {
  for (const { key, quantization, instances } of lmStudioModels(value) ?? []) {
    const found = instances.find((instance) => instance.id === id || key === id);
    if (found === undefined) continue;
    return { slots: found.slots, context: found.context_length, quantization };
  }
  return undefined;
}

/** The same by its own program, for versions whose interface does not tell the slots. */
function lmsModel(id: string): Loaded | undefined {
  const text = quickOutput("lms", ["ps", "--json"]);
  const found = parseLmsPs(text ?? "")?.find((instance) => instance.id === id);
  if (found === undefined) return undefined;
  return { slots: found.slots, context: found.context_length, quantization: null };
}

const SLOT_GAUGE =
  /^\S*(?:max_num_seqs|max_running_requests|total_slots)(?:\{[^}]*\})?\s+([\d.e+]+)\s*$/m;

/** A gauge or label by which some servers tell how many requests they serve at once. */
export function metricSlots(text: string): number | null {
  const found = SLOT_GAUGE.exec(text) ?? /\bmax_num_seqs="(\d+)"/.exec(text);
  const slots = Number(found?.[1]);
  return Number.isInteger(slots) && slots > 0 ? slots : null;
}

/** LM Studio, vLLM and others: what they tell in their own ways, else what is declared. */
export async function askOpenAi(question: RunnerQuestion, url: string): Promise<LiveAnswer> {
  const { model, limit_ms, declared_slots } = question;
  const [studio, metrics, list, version] = await Promise.all([
    plainJson(url, "/api/v1/models", limit_ms),
    plainGet(url, "/metrics", limit_ms),
    plainJson(url, "/v1/models", limit_ms),
    plainJson(url, "/version", limit_ms),
  ]);
  if (!list.ok && list.status === null) return hiccup(list.reason);
  const served = list.ok
    ? listOf(fieldsOf(list.value)["data"]).flatMap((entry) => textOf(fieldsOf(entry)["id"]) ?? [])
    : [];
  const id = model ?? (served.length === 1 ? served[0] : undefined);
  if (id === undefined) {
    return no("which model?", "Say it with --model, or local_models.model in touchstoned.yaml.");
  }
  let loaded = studio.ok ? studioModel(studio.value, id) : undefined;
  if (studio.ok && (loaded?.slots ?? null) === null) loaded = lmsModel(id) ?? loaded;
  if (list.ok && !served.includes(id) && loaded === undefined) return wrongModel(served, id);
  const told =
    loaded?.slots ?? (metrics.ok && metrics.status === 200 ? metricSlots(metrics.body) : null);
  const slots = slotsOf(told, declared_slots);
  if (slots === null) return no("it does not say how many slots it has", DECLARE);
  return {
    ok: true,
    runner: {
      version: version.ok ? textOf(fieldsOf(version.value)["version"]) : null,
      ...slots,
      context_per_slot: loaded?.context ?? null,
      model: { id, digest: null, file: null, quantization: loaded?.quantization ?? null },
    },
  };
}
