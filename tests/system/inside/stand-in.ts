// A model server inside a machine: answers at once, but holds its answers to what DIR/hold names for as
// long as that is there.
//
//   node stand-in.ts PORT DIR
//
// DIR/asked gets a line for each request for an answer, when it comes in: its last message.
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTextIfThere } from "../../../src/core/files.ts";
import { fakeOpenAi, goodChat } from "../../helpers/fake-openai.ts";
import { waitFor } from "../../helpers/wait.ts";

const MODEL = "stand-in";
const HOLDS_MS = 600_000;

const [port = "", folder = "."] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const server = await fakeOpenAi({
  models: [MODEL],
  port: Number(port),
  chat: async ({ body }) => {
    const messages = (body?.["messages"] ?? []) as { content: string }[];
    const question = messages.at(-1)?.content.trim() ?? "";
    appendFileSync(join(folder, "asked"), `${question}\n`);
    const held = (): boolean => readTextIfThere(join(folder, "hold"))?.trim() === question;
    await waitFor("leave to answer", () => !held(), HOLDS_MS);
    return goodChat(MODEL);
  },
});
writeFileSync(join(folder, "url"), server.url);
