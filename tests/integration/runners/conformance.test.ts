import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recorded, Reply } from "../../helpers/fake-http.ts";
import { fakeOllama, ollamaPiece, ollamaStream } from "../../helpers/fake-ollama.ts";
import { fakeOpenAi, piece, streamed } from "../../helpers/fake-openai.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { realKind, startRealServer } from "../../helpers/llama-server.ts";
import { attach } from "../../helpers/requests.ts";
import { runnerConformance, VERY_LONG, type Subject } from "./conformance.ts";

async function real(kind: "llama-server" | "embedded"): Promise<Subject> {
  const work_dir = mkdtempSync(join(tmpdir(), "touchstoned-conformance-"));
  const started = await startRealServer(work_dir, { kind, slots: 2, context_length: 8192 });
  return {
    runner: started.runner,
    model: "tiny",
    close: async () => {
      await started.stop();
      rmSync(work_dir, { recursive: true, force: true });
    },
  };
}

function asksForMuch(request: Recorded): boolean {
  const options = request.body?.["options"] as { num_predict?: number } | undefined;
  return (request.body?.["max_tokens"] ?? options?.num_predict) === VERY_LONG;
}

function chatFake(request: Recorded): Reply | undefined {
  if (!asksForMuch(request)) return undefined;
  return streamed([{ write: piece({ content: "and so on" }) }, { hang: true }]);
}

const kind = realKind();
if (kind === "llama-server")
  runnerConformance("llama-server (real)", { managed: false, slot_context: 8192 }, () =>
    real("llama-server"),
  );
runnerConformance("embedded (real)", { managed: true, slot_context: 8192 }, () => real("embedded"));

runnerConformance("llama-server (fake)", { managed: false, slot_context: null }, async () => {
  const server = await fakeLlamaServer({ chat: chatFake });
  const runner = attach("llama-server", server.url);
  return { runner, model: "fake", close: () => server.close() };
});

runnerConformance("openai (fake)", { managed: false, slot_context: null }, async () => {
  const server = await fakeOpenAi({ chat: chatFake });
  const runner = attach("openai", server.url, { declared_slots: 4 });
  return { runner, model: "fake", close: () => server.close() };
});

runnerConformance("ollama (fake)", { managed: true, slot_context: null }, async () => {
  const server = await fakeOllama({
    chat: (request) =>
      asksForMuch(request)
        ? ollamaStream([{ write: ollamaPiece({ content: "and so on" }) }, { hang: true }])
        : undefined,
  });
  const runner = attach("ollama", server.url);
  return { runner, model: "fake", close: () => server.close() };
});
