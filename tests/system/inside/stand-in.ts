// A model server inside a machine: answers at once, but holds its answers to what DIR/hold names for as
// long as that is there.
//
//   node stand-in.ts DIR
//
// Descriptor 3 is a socket that listens: whoever asks before the server is there waits for it.
//
// DIR/asked gets a line for each request for an answer, when it comes in: its last message.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { readTextIfThere } from "../../../src/core/files.ts";
import { fakeOpenAi, goodChat } from "../../helpers/fake-openai.ts";
import { waitFor } from "../../helpers/wait.ts";

const MODEL = "stand-in";
const HOLDS_MS = 600_000;

const [, , folder = "."] = process.argv;
mkdirSync(folder, { recursive: true });
await fakeOpenAi({
  models: [MODEL],
  fd: 3,
  chat: async ({ body }) => {
    const messages = (body?.["messages"] ?? []) as { content: string }[];
    const question = messages.at(-1)?.content.trim() ?? "";
    appendFileSync(join(folder, "asked"), `${question}\n`);
    const held = (): boolean => readTextIfThere(join(folder, "hold"))?.trim() === question;
    await waitFor("leave to answer", () => !held(), HOLDS_MS);
    return goodChat(MODEL);
  },
});
