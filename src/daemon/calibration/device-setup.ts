import { join } from "node:path";
import {
  CALIBRATION_LIMITS,
  coldness,
  launchAttached,
  launchOllama,
  launchOwn,
  loadBody,
  openTurnLog,
  RealDevice,
  requestBody,
  turnMessages,
  type Corpus,
  type Launch,
  type LaunchPlan,
  type Neighbour,
} from "../../calibrate/index.ts";
import type { Clock } from "../../core/clock.ts";
import type { UlidSource } from "../../core/ids.ts";
import { createReadingsRecorder } from "../../probes/index.ts";
import {
  connectRunner,
  startOllama,
  type Runner,
  type ServedModel,
  type StartDeps,
} from "../../runners/index.ts";
import { askRunner } from "../../runners/light.ts";
import { fileDigest } from "./file-digest.ts";
import type { ModelDigest, ServerFacts } from "./identity.ts";
import type { CalibrationPlan } from "./plan.ts";
import type { CalibrateOptions } from "./wish.ts";

export interface SetupWorld {
  state_dir: string;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  new_id: UlidSource;
  signal?: AbortSignal | undefined;
  note: (text: string) => void;
}

/** Logs of the servers that are started to measure on. */
function startDeps({ state_dir, env, clock, new_id }: SetupWorld): StartDeps {
  return { clock, new_id, env, work_dir: join(state_dir, "logs", "calibration") };
}

function launchPlanOf({ settings, calibration }: CalibrationPlan): LaunchPlan {
  const { binary, model_file, models_dir, args, env } = calibration;
  return { settings, binary, model_file, models_dir, args, env };
}

function fullName(name: string): string {
  return (name.includes(":") ? name : `${name}:latest`).toLowerCase();
}

/** `llama3.2` and `llama3.2:latest` are one model to Ollama. */
export function sameModel(plan: CalibrationPlan, name: string): boolean {
  return plan.settings.kind === "ollama"
    ? fullName(name) === fullName(plan.model)
    : name === plan.model;
}

function servedModel(plan: CalibrationPlan, models: readonly ServedModel[] | null) {
  return (
    models?.find(({ id }) => sameModel(plan, id)) ?? (models?.length === 1 ? models[0] : undefined)
  );
}

async function factsOf(plan: CalibrationPlan, runner: Runner): Promise<ServerFacts> {
  const { version, models } = await runner.status();
  const model = servedModel(plan, models);
  return {
    version,
    quantization: model?.quantization ?? null,
    digest: model?.digest?.replace(/^sha256:/, "") ?? null,
  };
}

/** Asks an Ollama of our own, with no model loaded, what it is and which model goes by that name. */
async function ollamaFacts(plan: CalibrationPlan, world: SetupWorld): Promise<ServerFacts> {
  const { binary, models_dir, env } = plan.calibration;
  const start = { binary: binary ?? "ollama", models_dir, slots: 1, env };
  const started = await startOllama(plan.settings, start, startDeps(world));
  try {
    return await factsOf(plan, started.runner);
  } finally {
    await started.stop();
  }
}

const LOOK_LIMIT_MS = 5000;

/** Digest of the weights that a server in production names, as `slots allowed` tells it; null: not ours to read. */
async function namedFileDigest(plan: CalibrationPlan, world: SetupWorld): Promise<string | null> {
  const { kind, url, declared_slots } = plan.settings;
  if (kind !== "llama-server") return null;
  const { model } = plan;
  const live = await askRunner({ kind, url, model, declared_slots, limit_ms: LOOK_LIMIT_MS });
  const file = live.ok ? live.runner.model.file : null;
  if (file === null) return null;
  try {
    return await fileDigest(world.state_dir, file, world);
  } catch {
    world.signal?.throwIfAborted();
    return null;
  }
}

/**
 * What is known of model and server before anything is measured: facts of the server are null where
 * it must be started with its model to tell them.
 */
export async function modelFacts(
  plan: CalibrationPlan,
  world: SetupWorld,
): Promise<{ model: ModelDigest; facts: ServerFacts | null }> {
  const { model_file } = plan.calibration;
  if (plan.residency === "own_start" && model_file !== null) {
    const digest = await fileDigest(world.state_dir, model_file, world);
    return { model: { digest, digest_source: "file" }, facts: null };
  }
  const facts =
    plan.residency === "own_start"
      ? await ollamaFacts(plan, world)
      : await factsOf(plan, connectRunner(plan.settings, { clock: world.clock }));
  const { digest } = facts;
  const named = digest === null ? await namedFileDigest(plan, world) : null;
  if (named !== null) return { model: { digest: named, digest_source: "file" }, facts };
  const digest_source = digest === null ? "declared" : "runner";
  return { model: { digest, digest_source }, facts };
}

/** `launch` that also tells what each server says of itself. */
function telling(
  launch: Launch,
  plan: CalibrationPlan,
  tell: (facts: ServerFacts) => void,
): Launch {
  return async (options) => {
    const server = await launch(options);
    tell(await factsOf(plan, server.runner));
    return server;
  };
}

export interface DeviceParts {
  plan: CalibrationPlan;
  corpus: Corpus;
  cold: Awaited<ReturnType<typeof coldness>>;
  neighbours: readonly Neighbour[];
  temperature: number;
  seed: number;
  max_tokens: number;
  run_dir: string;
  onFacts: (facts: ServerFacts) => void;
  createRecorder: CalibrateOptions["createRecorder"];
}

/** How prompts are kept cold: an attached server's own memory of prompts cannot be switched off. */
export function coldnessOf(plan: CalibrationPlan): ReturnType<typeof coldness> {
  if (plan.residency === "attached") return Promise.resolve({ cold: "nonce", args: [] });
  return coldness(launchPlanOf(plan));
}

function launchOf({ plan, cold, onFacts }: DeviceParts, world: SetupWorld): Launch {
  const deps = startDeps(world);
  if (plan.residency === "attached") {
    return telling(launchAttached(plan.settings, deps), plan, onFacts);
  }
  const how = launchPlanOf(plan);
  const launch =
    plan.settings.kind === "ollama"
      ? launchOllama(how, plan.model, loadBody, deps)
      : launchOwn(how, cold.args, deps);
  return telling(launch, plan, onFacts);
}

/** This machine with the runner of the plan, and its log of raw turns. */
export function openDevice(
  parts: DeviceParts,
  world: SetupWorld,
): { device: RealDevice; turns_path: string; close: () => void } {
  const { plan, corpus, cold, temperature, seed, max_tokens } = parts;
  const { clock, note } = world;
  const turn_log = openTurnLog(parts.run_dir);
  const device = new RealDevice({
    launch: launchOf(parts, world),
    plan: {
      model: plan.model,
      turn: (id) => turnMessages(corpus, id),
      temperature,
      seed,
      max_tokens,
      cold: cold.cold,
      extra_body: requestBody(plan.settings.kind),
      limits: CALIBRATION_LIMITS,
    },
    around: {
      clock,
      createRecorder:
        parts.createRecorder ?? (({ server_pid }) => createReadingsRecorder({ server_pid, clock })),
      neighbours: parts.neighbours,
      isOurs: (name) => sameModel(plan, name),
      turn_log,
      note,
    },
  });
  return { device, turns_path: turn_log.path, close: () => turn_log.close() };
}
