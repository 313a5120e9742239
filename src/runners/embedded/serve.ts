import type { Server } from "node:http";
import type { Clock } from "../../core/clock.ts";
import { ulidSource } from "../../core/ids.ts";
import { modelIdOf } from "../model-id.ts";
import { checkGgufHead } from "../../models/index.ts";
import { LlamaEngine } from "./engine.ts";
import { embeddedServer } from "./server.ts";

export interface EmbeddedOptions {
  module_dir: string;
  model_file: string;
  port: number;
  slots: number;
  slot_context: number;
  threads: number | null;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * The body of the embedded runner's process: answers at once (503 while it loads), loads the model,
 * serves until told to stop. Throws when the model cannot be loaded.
 */
export async function serveEmbedded(
  options: EmbeddedOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  checkGgufHead(options.model_file);
  const engine = new LlamaEngine(options, clock);
  const loading = engine.load();
  const server = embeddedServer({
    ...options,
    engine,
    model_id: modelIdOf(options.model_file),
    clock,
    new_id: ulidSource(clock),
  });
  try {
    const stopped = aborted(signal);
    // A load that is stuck must not keep us from stopping.
    await Promise.race([stopped, Promise.all([loading, listen(server, options.port)])]);
    await stopped;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
