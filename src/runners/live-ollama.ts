import { fieldsOf, listOf, numberOf, textOf } from "./fields.ts";
import {
  DECLARE,
  hiccup,
  no,
  slotsOf,
  type LiveAnswer,
  type LiveRunner,
  type RunnerQuestion,
} from "./live-answer.ts";
import { ollamaSlots } from "./ollama-service.ts";
import { plainJson } from "./plain-get.ts";

function ollamaName(name: string): string {
  return name.includes(":") ? name : `${name}:latest`;
}

function ollamaSlotsOf(
  question: RunnerQuestion,
): Pick<LiveRunner, "slots" | "slots_source" | "slots_note" | "service"> | LiveAnswer {
  const service = ollamaSlots(question.service);
  if (service.ok) {
    const { slots, source } = service;
    return { slots, slots_source: "service", slots_note: `by ${source}`, service };
  }
  const declared = slotsOf(null, question.declared_slots);
  return declared ?? no(`its slots cannot be read: ${service.reason}`, DECLARE);
}

/** Ollama tells no slots: they are those of its process or service, or what is declared. */
export async function askOllama(question: RunnerQuestion, url: string): Promise<LiveAnswer> {
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
  const slots = ollamaSlotsOf(question);
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
