import { systemClock } from "../../../src/core/clock.ts";
import { logCounts, logShape } from "../../../src/calibrate/log-facts.ts";
import { Answer, fieldsOf, numberOf, textOf, type Dialect } from "../../../src/runners/answer.ts";
import { chatDialect } from "../../../src/runners/chat.ts";
import { errorBody, statusFault } from "../../../src/runners/fault.ts";
import { lineFraming, sseFraming } from "../../../src/runners/framing.ts";
import { ollamaDialect } from "../../../src/runners/ollama-chat.ts";
import {
  ollamaLoaded,
  ollamaModelFacts,
  parseMetrics,
  readSlots,
  type RunnerKind,
} from "../../../src/runners/index.ts";
import { fakeServer } from "../../helpers/fake-http.ts";
import { jsonFixture } from "../../helpers/fixtures.ts";
import { literal } from "../../helpers/literal.ts";
import { attach } from "../../helpers/requests.ts";
import type { SampleReader } from "../../helpers/sample-index.ts";

/** The status of a runner whose server answers with these bodies, and with 404 else. */
async function statusOf(kind: RunnerKind, bodies: Readonly<Record<string, unknown>>) {
  const server = await fakeServer(({ path }) =>
    path in bodies ? { body: bodies[path] } : undefined,
  );
  return attach(kind, server.url).status();
}

const MODELS = { "/v1/models": jsonFixture("runner/llama-server-models/01-new.json") };

const props: SampleReader = async ({ text }) => {
  const status = await statusOf("llama-server", { ...MODELS, "/props": literal(text) });
  const context_length = status.models?.[0]?.context_length;
  return { slots: status.slots, version: status.version, context_length };
};

const models: SampleReader = async ({ text }) => {
  const status = await statusOf("llama-server", { "/v1/models": literal(text) });
  return { context_length: status.models?.[0]?.context_length };
};

const slots: SampleReader = async ({ text }) => {
  const server = await fakeServer(({ path }) => (path === "/slots" ? { body: text } : undefined));
  const read = await readSlots({ url: server.url, api_key: null }, systemClock);
  return {
    slots: read.slots?.length,
    n_ctx: read.slots?.map(({ context }) => context).join(),
    busy: read.slots?.map(({ busy }) => busy).join(),
  };
};

/** Reads a stream to its end, and gives the last message that came whole beside the answer. */
function readStream(dialect: Dialect, text: string): { answer: Answer; messages: string[] } {
  const answer = new Answer();
  const messages: string[] = [];
  const onMessage = (message: string): void => {
    messages.push(message);
    dialect.read(message, messages.length, answer);
  };
  const framing = dialect.framing === "sse" ? sseFraming(onMessage) : lineFraming(onMessage);
  framing.feed(Buffer.from(text));
  framing.end();
  return { answer, messages };
}

const llamaStream: SampleReader = ({ text }) => {
  const { answer, messages } = readStream(chatDialect, text);
  const last = fieldsOf(literal(messages.at(-1) ?? "{}"));
  return {
    // The native protocol has no other end mark than this.
    complete: answer.ended || last["stop"] === true,
    finish_reason: answer.finish_reason,
    tokens_predicted: numberOf(last["tokens_predicted"]),
  };
};

const completion: SampleReader = ({ text }) => {
  const fields = fieldsOf(literal(text));
  return {
    tokens_predicted: numberOf(fields["tokens_predicted"]),
    tokens_evaluated: numberOf(fields["tokens_evaluated"]),
    truncated: fields["truncated"],
    stop_type: textOf(fields["stop_type"]),
  };
};

const ollamaStream: SampleReader = ({ path, text }) => {
  const lines = path.endsWith(".json") ? JSON.stringify(literal(text)) : text;
  const { answer, messages } = readStream(ollamaDialect, `${lines.trim()}\n`);
  return {
    ...answer.usage,
    ...answer.server_timing,
    complete: answer.ended,
    finish_reason: answer.finish_reason,
    chunks: messages.filter((message) => errorBody(literal(message)) === undefined).length,
    error: answer.trouble?.message,
  };
};

const ollamaTags: SampleReader = async ({ text }) => {
  const status = await statusOf("ollama", {
    "/api/version": { version: "1" },
    "/api/tags": literal(text),
    "/api/ps": { models: [] },
  });
  return {
    models: status.models?.map(({ id }) => id).join(),
    sizes: status.models?.map(({ size_bytes }) => size_bytes).join(),
  };
};

const ollamaVersion: SampleReader = async ({ text }) => {
  const { version } = await statusOf("ollama", { "/api/version": literal(text) });
  return { version };
};

const ollamaPs: SampleReader = ({ text }) => {
  const [model] = ollamaLoaded(literal(text)) ?? [];
  return { ...model, gpu_share: Math.round((model?.gpu_share ?? Number.NaN) * 1000) / 1000 };
};

const serverError: SampleReader = ({ text, expected }) => {
  const found = statusFault(Number(expected["http"] ?? 500), text);
  return { ...found, http: found.http_status };
};

const log: SampleReader = ({ text }) => {
  const { slots: n_slots, context } = logShape(text);
  return { n_slots, context, ...logCounts(text) };
};

export const SERVER_READERS: Readonly<Record<string, SampleReader>> = {
  "llama-server-props": props,
  "llama-server-models": models,
  "llama-server-slots": slots,
  "llama-server-stream": llamaStream,
  "llama-server-completion": completion,
  "llama-server-error": serverError,
  "llama-server-log": log,
  "llama-server-metrics": ({ text }) => ({ ...parseMetrics(text) }),
  "ollama-stream": ollamaStream,
  "ollama-error": serverError,
  "ollama-api-tags": ollamaTags,
  "ollama-api-version": ollamaVersion,
  "ollama-api-ps": ollamaPs,
  "ollama-api-show": ({ text }) => ({ ...ollamaModelFacts(literal(text)) }),
};
