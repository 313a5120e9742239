import { basename, extname } from "node:path";
import { quickOutput } from "../core/quick-command.ts";
import { fieldsOf, listOf, numberOf, textOf } from "./fields.ts";
import type { ServiceSlots } from "./ollama-service.ts";
import { plainGet, plainJson } from "./plain-get.ts";
import type { RunnerKind } from "./runner.ts";

export interface RunnerQuestion {
  kind: RunnerKind;
  /** null where the runner is only started for each run. */
  url: string | null;
  /** null = the one that it serves, where that is one. */
  model: string | null;
  declared_slots: number | null;
  /** For everything that is asked, milliseconds. */
  limit_ms: number;
  /** An earlier answer about Ollama's service. */
  service?: ServiceSlots | undefined;
}

/** What a production runner has now. */
export interface LiveRunner {
  version: string | null;
  slots: number;
  /** `service`: from the environment of the process or service. `declared`: machine.yaml says so. */
  slots_source: "runner" | "service" | "declared";
  /** Which service, which declaration: for the reason. */
  slots_note: string;
  /** Tokens; null where it is not told, or not loaded now. */
  context_per_slot: number | null;
  model: {
    id: string;
    digest: string | null;
    /** Path of the weights as the server sees it. */
    file: string | null;
    quantization: string | null;
  };
  service?: ServiceSlots;
}

export type LiveAnswer =
  | { ok: true; runner: LiveRunner }
  /** `passing`: may be gone at the next look (no answer, loading), as opposed to an answer that says no. */
  | { ok: false; passing: boolean; reason: string; hint: string };

const LOCAL = new Set(["localhost", "::1", "[::1]", "0.0.0.0", "[::]"]);

function isHere(url: string): boolean {
  const { hostname } = new URL(url);
  return LOCAL.has(hostname) || hostname.startsWith("127.");
}

function no(reason: string, hint: string): LiveAnswer {
  return { ok: false, passing: false, reason, hint };
}

function hiccup(reason: string): LiveAnswer {
  return { ok: false, passing: true, reason, hint: "Start the runner, or look at what it does." };
}

const DECLARE = "Say how many with declared_slots of this runner in machine.yaml.";

/** What the runner said, or what machine.yaml declares, and says that it is declared. */
function slotsOf(
  told: number | null,
  declared: number | null,
): Pick<LiveRunner, "slots" | "slots_source" | "slots_note"> | null {
  if (told !== null) return { slots: told, slots_source: "runner", slots_note: "it says so" };
  if (declared === null) return null;
  return { slots: declared, slots_source: "declared", slots_note: "declared in machine.yaml" };
}

function wrongModel(served: readonly string[], model: string): LiveAnswer {
  const list = served.length === 0 ? "no model" : served.join(", ");
  return no(`it serves ${list}, not "${model}"`, "Load that model, or name another with --model.");
}

async function askLlamaServer(question: RunnerQuestion, url: string): Promise<LiveAnswer> {
  const props = await plainJson(url, "/props", question.limit_ms);
  if (!props.ok) return hiccup(props.reason);
  const fields = fieldsOf(props.value);
  const file = textOf(fields["model_path"]);
  const alias = textOf(fields["model_alias"]);
  const stem = file === null ? null : basename(file, extname(file));
  const names = [alias, stem, file, file === null ? null : basename(file)].filter(
    (name) => name !== null,
  );
  const { model } = question;
  if (model !== null && !names.includes(model)) return wrongModel(names.slice(0, 1), model);
  const slots = slotsOf(numberOf(fields["total_slots"]), question.declared_slots);
  if (slots === null) return no("/props does not say how many slots it has", DECLARE);
  return {
    ok: true,
    runner: {
      version: textOf(fields["build_info"]),
      ...slots,
      context_per_slot: numberOf(fieldsOf(fields["default_generation_settings"])["n_ctx"]),
      model: {
        id: model ?? alias ?? stem ?? "unknown",
        digest: null,
        file,
        quantization: textOf(fields["model_ftype"]),
      },
    },
  };
}

function ollamaName(name: string): string {
  return name.includes(":") ? name : `${name}:latest`;
}

async function ollamaSlotsOf(
  question: RunnerQuestion,
): Promise<Pick<LiveRunner, "slots" | "slots_source" | "slots_note" | "service"> | LiveAnswer> {
  const { ollamaSlots } = await import("./ollama-service.ts");
  const service = ollamaSlots(question.service);
  if (service.ok) {
    const { slots, source } = service;
    return { slots, slots_source: "service", slots_note: `by ${source}`, service };
  }
  const declared = slotsOf(null, question.declared_slots);
  return declared ?? no(`its slots cannot be read: ${service.reason}`, DECLARE);
}

async function askOllama(question: RunnerQuestion, url: string): Promise<LiveAnswer> {
  if (question.model === null) {
    return no("which model?", "Say it with --model, or local_models.model in touchstoned.yaml.");
  }
  const [version, tags, ps] = await Promise.all(
    ["/api/version", "/api/tags", "/api/ps"].map((path) => plainJson(url, path, question.limit_ms)),
  );
  if (version?.ok !== true || tags?.ok !== true || ps?.ok !== true) {
    const failed = [version, tags, ps].find((answer) => answer?.ok === false);
    return hiccup(failed?.ok === false ? failed.reason : "no answer");
  }
  const name = ollamaName(question.model);
  const named = (answer: unknown) =>
    listOf(fieldsOf(answer)["models"])
      .map((entry) => fieldsOf(entry))
      .find((entry) => entry["name"] === name || entry["model"] === name);
  const listed = named(tags.value);
  if (listed === undefined) {
    return no(`it has no model "${question.model}"`, "`ollama list` shows what it has.");
  }
  const slots = await ollamaSlotsOf(question);
  if ("ok" in slots) return slots;
  return {
    ok: true,
    runner: {
      version: textOf(fieldsOf(version.value)["version"]),
      ...slots,
      context_per_slot: numberOf(named(ps.value)?.["context_length"]),
      model: {
        id: question.model,
        digest: textOf(listed["digest"])?.replace(/^sha256:/, "") ?? null,
        file: null,
        quantization: textOf(fieldsOf(listed["details"])["quantization_level"]),
      },
    },
  };
}

/** `lms ps --json` may say that it wakes its service up before the list. */
export function parseLmsPs(text: string): Record<string, unknown>[] {
  const start = text.search(/^\[/m);
  try {
    const value: unknown = JSON.parse(start < 0 ? text : text.slice(start));
    return listOf(value).map((entry) => fieldsOf(entry) as Record<string, unknown>);
  } catch {
    return [];
  }
}

interface Loaded {
  names: string[];
  parallel: number | null;
  context: number | null;
  quantization: string | null;
}

function lmStudioApi(value: unknown): Loaded[] {
  return listOf(fieldsOf(value)["models"]).flatMap((entry) => {
    const model = fieldsOf(entry);
    return listOf(model["loaded_instances"]).map((item): Loaded => {
      const instance = fieldsOf(item);
      const config = fieldsOf(instance["config"]);
      return {
        names: [textOf(instance["id"]), textOf(model["key"])].filter((name) => name !== null),
        parallel: numberOf(config["parallel"]),
        context: numberOf(config["context_length"]),
        quantization: textOf(fieldsOf(model["quantization"])["name"]),
      };
    });
  });
}

/** Loaded models by LM Studio's own program, for versions whose API does not tell the slots. */
function lmsPs(): Loaded[] {
  const text = quickOutput("lms", ["ps", "--json"]);
  return parseLmsPs(text ?? "[]").map((entry) => ({
    names: [textOf(entry["identifier"]), textOf(entry["modelKey"])].filter((name) => name !== null),
    parallel: numberOf(entry["parallel"]),
    context: numberOf(entry["contextLength"]),
    quantization: textOf(fieldsOf(entry["quantization"])["name"]),
  }));
}

/** A gauge or label by which some servers tell how many requests they serve at once. */
export function metricSlots(text: string): number | null {
  const found =
    /^\S*(?:max_num_seqs|max_running_requests|total_slots)(?:\{[^}]*\})?\s+([\d.e+]+)\s*$/m.exec(
      text,
    ) ?? /\bmax_num_seqs="(\d+)"/.exec(text);
  const slots = Number(found?.[1]);
  return Number.isInteger(slots) && slots > 0 ? slots : null;
}

async function askOpenAi(question: RunnerQuestion, url: string): Promise<LiveAnswer> {
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
  let loaded = studio.ok
    ? lmStudioApi(studio.value).find(({ names }) => names.includes(id))
    : undefined;
  if (studio.ok && (loaded === undefined || loaded.parallel === null)) {
    loaded = lmsPs().find(({ names }) => names.includes(id)) ?? loaded;
  }
  if (list.ok && !served.includes(id) && loaded === undefined) return wrongModel(served, id);
  const told =
    loaded?.parallel ?? (metrics.ok && metrics.status === 200 ? metricSlots(metrics.body) : null);
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

/** Asks a production runner over plain sockets what it has. Never rejects. */
export async function askRunner(question: RunnerQuestion): Promise<LiveAnswer> {
  const { kind, url } = question;
  if (url === null) {
    return no(
      "it is started for each run, so there is nothing that scripts could send requests to",
      "Give the url of a server that is there in machine.yaml.",
    );
  }
  if (!isHere(url)) {
    return no(
      `${new URL(url).host} is another machine, whose memory this one cannot see`,
      "Measure there, with a station of its own.",
    );
  }
  if (kind === "ollama") return askOllama(question, url);
  return kind === "openai" ? askOpenAi(question, url) : askLlamaServer(question, url);
}
