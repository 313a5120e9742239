import { fakeServer, type FakeServer, type Recorded, type Reply } from "./fake-http.ts";
import { goodChat } from "./fake-openai.ts";

export interface FakeLlamaServer extends FakeServer {
  /** While true everything answers 503, as the real one does while it loads its model. */
  loading: boolean;
}

export interface FakeLlamaOptions {
  model?: string;
  aliases?: string[];
  slots?: number;
  slot_context?: number;
  loading?: boolean;
  /** How many slots say that they are at work [0]. */
  busy?: () => number;
  chat?: (request: Recorded, count: number) => Reply | undefined | Promise<Reply | undefined>;
}

const LOADING = { error: { code: 503, message: "Loading model", type: "unavailable_error" } };

/** llama-server for faults that the real one does not make on demand. */
export async function fakeLlamaServer(options: FakeLlamaOptions = {}): Promise<FakeLlamaServer> {
  const { model = "fake", aliases = [model], slots = 2, slot_context = 1024, chat } = options;
  const state: { server?: FakeLlamaServer } = {};
  let count = 0;
  const server = await fakeServer(async (request) => {
    if (state.server?.loading ?? options.loading) return { status: 503, body: LOADING };
    switch (request.path) {
      case "/health":
        return { body: { status: "ok" } };
      case "/props":
        return {
          body: {
            total_slots: slots,
            build_info: "b1-fake",
            default_generation_settings: { n_ctx: slot_context },
          },
        };
      case "/slots": {
        const working = options.busy?.() ?? 0;
        return {
          body: Array.from({ length: slots }, (_, id) => ({
            id,
            n_ctx: slot_context,
            is_processing: id < working,
          })),
        };
      }
      case "/v1/models":
        return {
          body: {
            data: [{ id: model, aliases, meta: { n_ctx: slot_context, size: 7, ftype: "F16" } }],
          },
        };
      case "/v1/chat/completions":
        count += 1;
        return (await chat?.(request, count)) ?? goodChat(model);
      default:
        return undefined;
    }
  });
  state.server = Object.assign(server, { loading: options.loading ?? false });
  return state.server;
}
