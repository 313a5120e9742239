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
  const words = messages.at(-1)?.content.split(/\s+/).length ?? 0;
  response.write(line({ message: { content: "yes" }, done: false }));
  const counts = { prompt_eval_count: words + 8, eval_count: 1, total_duration: 1e6 };
  response.end(line({ message: { content: "" }, done: true, done_reason: "stop", ...counts }));
}

async function answer(url: string, body: string, response: ServerResponse): Promise<void> {
  const answers: Record<string, () => object> = {
    "/api/version": () => ({ version: "0.99.0" }),
    "/api/tags": () => ({ models: [entry] }),
    "/api/ps": () => ({ models: loaded ? [{ ...entry, context_length: 512 }] : [] }),
  };
  if (url === "/api/chat") return chat(JSON.parse(body) as ChatBody, response);
  const found = answers[url]?.();
  if (found === undefined) response.statusCode = 404;
  response.end(JSON.stringify(found ?? {}));
}

createServer((request, response) => {
  void textOf(request).then((body) => answer(request.url ?? "", body, response));
}).listen(Number(port), host);
