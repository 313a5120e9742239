#!/usr/bin/env node
// `ollama serve` for tests: reached by its environment alone, as the real one is. FAKE_OLLAMA is JSON:
// {slots: what it logs instead of OLLAMA_NUM_PARALLEL, dies_at: N, silent: true (no log of slots),
//  refuse_load: text, environment: file that gets its variables}
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";

const fake = JSON.parse(process.env.FAKE_OLLAMA ?? "{}");
const [host, port] = (process.env.OLLAMA_HOST ?? "").split(":");
const parallel = Number(process.env.OLLAMA_NUM_PARALLEL);
if (process.argv[2] !== "serve") process.exit(2);
if (fake.environment !== undefined) {
  writeFileSync(fake.environment, JSON.stringify({ ...process.env }));
}
const loaded = new Set();
const name = "tiny:latest";
const entry = { name, model: name, digest: `sha256:${"a".repeat(64)}`, size: 7, details: {} };

function load(body, response) {
  if (fake.refuse_load !== undefined) {
    response.writeHead(500).end(JSON.stringify({ error: fake.refuse_load }));
    return false;
  }
  if (fake.dies_at !== undefined && parallel >= fake.dies_at) process.exit(1);
  if (loaded.has(name)) return true;
  loaded.add(name);
  if (fake.silent !== true) {
    const context = body.options?.num_ctx;
    console.error(`load_model: loading model 'tiny'`);
    console.error(
      `load_model: initializing, n_slots = ${fake.slots ?? parallel}, n_ctx_slot = ${context}`,
    );
  }
  return true;
}

function chat(body, response) {
  if (!load(body, response)) return;
  if (body.messages.length === 0) {
    response.end(JSON.stringify({ model: body.model, done: true, done_reason: "load" }));
    return;
  }
  const { model } = body;
  const words = String(body.messages.at(-1).content).split(/\s+/).length;
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  response.write(`${JSON.stringify({ model, message: { content: "yes" }, done: false })}\n`);
  const counts = { prompt_eval_count: words + 8, eval_count: 1, total_duration: 1e6 };
  response.end(
    `${JSON.stringify({ model, message: { content: "" }, done: true, done_reason: "stop", ...counts })}\n`,
  );
}

createServer(async (request, response) => {
  let text = "";
  for await (const part of request) text += part;
  const models = () => [...loaded].map(() => ({ ...entry, context_length: 512 }));
  if (request.url === "/api/version") response.end(JSON.stringify({ version: "0.99.0" }));
  else if (request.url === "/api/tags") response.end(JSON.stringify({ models: [entry] }));
  else if (request.url === "/api/ps") response.end(JSON.stringify({ models: models() }));
  else if (request.url === "/api/chat") chat(JSON.parse(text), response);
  else response.writeHead(404).end("{}");
}).listen(Number(port), host);
