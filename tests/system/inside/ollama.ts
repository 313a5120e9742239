// Ollama inside a machine: what it serves are the models that the README speaks of. Descriptor 3 is a
// socket that listens.
import { fakeOllama } from "../../helpers/fake-ollama.ts";

await fakeOllama({ models: ["qwen3:8b", "llama3.1:8b"], fd: 3 });
