import { basename, extname } from "node:path";
import { fieldsOf, numberOf, textOf } from "./fields.ts";
import {
  DECLARE,
  hiccup,
  no,
  slotsOf,
  wrongModel,
  type LiveAnswer,
  type RunnerQuestion,
} from "./live-answer.ts";
import { liveServing } from "./live-serving.ts";
import { plainJson } from "./plain-get.ts";

const LOCAL = new Set(["localhost", "::1", "[::1]", "0.0.0.0", "[::]"]);

function isHere(url: string): boolean {
  const { hostname } = new URL(url);
  return LOCAL.has(hostname) || hostname.startsWith("127.");
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
  const started =
    question.kind === "llama-server" ? { serving: liveServing(url, question.serving) } : {};
  return {
    ok: true,
    runner: {
      ...started,
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
  // Only what is needed: it is loaded anew at each call.
  if (kind === "ollama") return (await import("./live-ollama.ts")).askOllama(question, url);
  if (kind === "openai") return (await import("./live-openai.ts")).askOpenAi(question, url);
  return askLlamaServer(question, url);
}
