// `ollama serve` for tests: reached by its environment alone, as the real one is. FAKE_OLLAMA is JSON;
// see `Fake`.
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";

interface Fake {
  /** What it logs instead of OLLAMA_NUM_PARALLEL. */
  slots?: number;
  /** So many slots, and it dies when it loads. */
  dies_at?: number;
  /** Its log says nothing of slots. */
  silent?: boolean;
  /** After so many answers another model is in its memory, too. */
  intruder_after?: number;
  /** After so many answers nobody can read what is in its memory. */
  mute_after?: number;
  /** File that gets its variables. */
  environment?: string;
}

interface ChatBody {
  model: string;
  messages: { content: string }[];
  options?: { num_ctx?: number };
}

const fake = JSON.parse(process.env["FAKE_OLLAMA"] ?? "{}") as Fake;
const [host, port] = (process.env["OLLAMA_HOST"] ?? "").split(":");
const parallel = Number(process.env["OLLAMA_NUM_PARALLEL"]);
if (process.argv[2] !== "serve") process.exit(2);
if (fake.environment !== undefined) {
  writeFileSync(fake.environment, JSON.stringify({ ...process.env }));
}
const name = "tiny:latest";
const entry = { name, model: name, digest: `sha256:${"a".repeat(64)}`, size: 7, details: {} };
let loaded = false;
let answered = 0;
const after = (answers: number | undefined): boolean => answers !== undefined && answered > answers;

function load(body: ChatBody): void {
  if (fake.dies_at !== undefined && parallel >= fake.dies_at) process.exit(1);
  if (loaded) return;
  loaded = true;
  if (fake.silent === true) return;
  console.error("load_model: loading model 'tiny'");
  const shape = `n_slots = ${fake.slots ?? parallel}, n_ctx_slot = ${body.options?.num_ctx}`;
  console.error(`load_model: initializing, ${shape}`);
}

function chat(body: ChatBody, response: ServerResponse): void {
  load(body);
  const { model, messages } = body;
  const line = (value: object): string => `${JSON.stringify({ model, ...value })}\n`;
  response.setHeader("content-type", "application/x-ndjson");
  if (messages.length === 0) return void response.end(line({ done: true, done_reason: "load" }));
  answered += 1;
  const words = messages.at(-1)?.content.split(/\s+/).length ?? 0;
  response.write(line({ message: { content: "yes" }, done: false }));
  const counts = { prompt_eval_count: words + 8, eval_count: 1, total_duration: 1e6 };
  response.end(line({ message: { content: "" }, done: true, done_reason: "stop", ...counts }));
}

async function answer(url: string, body: string, response: ServerResponse): Promise<void> {
  const answers: Record<string, () => object> = {
    "/api/version": () => ({ version: "0.99.0" }),
    "/api/tags": () => ({ models: [entry] }),
    "/api/ps": () => {
      const other = { ...entry, name: "other:latest", model: "other:latest" };
      const own = loaded ? [{ ...entry, context_length: 512 }] : [];
      return { models: after(fake.intruder_after) ? [...own, other] : own };
    },
  };
  if (url === "/api/chat") return chat(JSON.parse(body) as ChatBody, response);
  const mute = url === "/api/ps" && after(fake.mute_after);
  const found = mute ? undefined : answers[url]?.();
  if (found === undefined) response.statusCode = 404;
  response.end(JSON.stringify(found ?? {}));
}

createServer((request, response) => {
  void textOf(request).then((body) => answer(request.url ?? "", body, response));
}).listen(Number(port), host);
