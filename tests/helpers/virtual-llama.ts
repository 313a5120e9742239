import { setTimeout as realPause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { FakeClock } from "./fake-clock.ts";
import { fakeServer, type FakeServer, type Recorded, type Reply, type Step } from "./fake-http.ts";
import { piece, sse, usagePiece } from "./fake-openai.ts";

/** Time stands still for so long after anything happened: whoever reacts to it does so at once. */
const QUIET_MS = 4;
/** With nobody at work it stands still longer: a client thinks between two requests. */
const IDLE_MS = 40;
const STEP_MS = 500;
/** Virtual time of a request that is alone. */
const WORK_MS = 2000;

export interface VirtualLlamaOptions {
  clock: FakeClock;
  slots: number;
  /** How many requests are really worked on at once [slots]. */
  works?: number;
  /** Output of so many busy slots over that of one [1, 1.8, 2.5, 3.1]. */
  rate?: readonly number[];
  /** Tokens of context that a slot has, and says that it has. */
  context?: number;
  model?: string;
  /** The weights that it says it serves. */
  model_path?: string;
  /** Answer to a request that is done, while `busy` were at work on it together; undefined = a good one. */
  answer?: (request: Recorded, busy: number) => Reply | undefined;
  /** Slots at work for somebody else. */
  foreign?: () => number;
}

export interface VirtualLlama extends FakeServer {
  /** Most requests that were there at once. */
  most: () => number;
  /** From now on every connection breaks, until somebody has asked so often whether it is there. */
  die: (looks: number) => void;
  /** The model that it says it serves, from now on. */
  serve: (model: string) => void;
}

interface Job {
  request: Recorded;
  left_ms: number;
  busy: number;
  done: (reply: Reply) => void;
}

function words(request: Recorded): number {
  const messages = request.body?.["messages"] as { content: string }[] | undefined;
  return (messages ?? []).flatMap(({ content }) => content.split(/\s+/)).length;
}

function goodAnswer(request: Recorded, model: string): Reply {
  const most = Number(request.body?.["max_tokens"] ?? 16);
  const usage = { model, prompt_tokens: words(request), completion_tokens: most, cached_tokens: 0 };
  const steps: Step[] = [
    { write: piece({ model, content: "yes and no" }) },
    { write: piece({ model, finish_reason: "length" }) },
    { write: usagePiece(usage) },
    { write: sse("[DONE]") },
  ];
  return { headers: { "content-type": "text/event-stream" }, steps };
}

/**
 * A llama-server whose requests share its speed in virtual time: what is measured on it does not depend
 * on the speed of the machine that runs the test. Time is moved by the server, while nobody does anything.
 */
export async function virtualLlama(options: VirtualLlamaOptions): Promise<VirtualLlama> {
  const { clock, slots, works = slots, context = 1024, model = "fake" } = options;
  const { rate = [1, 1.8, 2.5, 3.1], foreign = () => 0 } = options;
  const jobs: Job[] = [];
  const state = { most: 0, dead: 0, changes: 0, over: false, served: model };

  const finish = (job: Job): void => {
    jobs.splice(jobs.indexOf(job), 1);
    job.done(options.answer?.(job.request, job.busy) ?? goodAnswer(job.request, model));
  };
  const advance = (): void => {
    const active = jobs.slice(0, works);
    if (active.length === 0) return clock.advance(100);
    const speed = (rate[active.length - 1] ?? 1) / active.length;
    const first = Math.min(...active.map(({ left_ms }) => left_ms));
    const passed_ms = Math.min(STEP_MS, first / speed);
    for (const job of active) {
      job.left_ms -= passed_ms * speed;
      job.busy = Math.max(job.busy, jobs.length);
    }
    clock.advance(passed_ms);
    const done = active.find(({ left_ms }) => left_ms < 1e-6);
    if (done !== undefined) finish(done);
    return undefined;
  };
  const run = async (): Promise<void> => {
    let seen = -1;
    let quiet_ms = 0;
    while (!state.over) {
      await realPause(QUIET_MS);
      quiet_ms = state.changes === seen ? quiet_ms + QUIET_MS : 0;
      seen = state.changes;
      if (quiet_ms === 0 || (jobs.length === 0 && quiet_ms < IDLE_MS)) continue;
      advance();
      state.changes += 1;
      seen = state.changes;
    }
  };

  const answers: Record<string, () => Reply> = {
    "/health": () => ({ body: { status: "ok" } }),
    "/props": () => ({
      body: {
        total_slots: slots,
        build_info: "b1-virtual",
        model_alias: model,
        model_path: options.model_path,
        default_generation_settings: { n_ctx: context },
      },
    }),
    "/slots": () => {
      const working = Math.min(works, jobs.length) + foreign();
      const body = Array.from({ length: slots }, (_, id) => ({
        id,
        n_ctx: context,
        is_processing: id < working,
      }));
      return { body };
    },
    "/v1/models": () => ({
      body: {
        data: [{ id: state.served, aliases: [state.served], meta: { n_ctx: context, size: 7 } }],
      },
    }),
  };
  const server = await fakeServer(async (request) => {
    state.changes += 1;
    if (state.dead > 0) {
      if (request.path === "/v1/models") state.dead -= 1;
      return { steps: [{ cut: true }] };
    }
    if (request.path !== "/v1/chat/completions") return answers[request.path]?.();
    const reply = await new Promise<Reply>((done) => {
      jobs.push({ request, left_ms: WORK_MS, busy: 0, done });
      state.most = Math.max(state.most, jobs.length);
    });
    state.changes += 1;
    return reply;
  });
  onTestFinished(() => void (state.over = true));
  void run();
  return Object.assign(server, {
    most: () => state.most,
    serve: (other: string) => void (state.served = other),
    die(looks: number) {
      state.dead = looks;
      for (const job of jobs.splice(0)) job.done({ steps: [{ cut: true }] });
    },
  });
}
