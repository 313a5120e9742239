export type * from "./runner.ts";
export { connectRunner, DEFAULT_URL, RUNNER_KINDS } from "./registry.ts";
export type { StartDeps, StartedRunner } from "./guarded.ts";
export { startRunner } from "./start.ts";
export { startOllama } from "./start-ollama.ts";
export { MINIMAL_ENVIRONMENT } from "./environment.ts";
export { liveServing } from "./live-serving.ts";
export { servingOptions, settingsText, type ServingOptions } from "./serving-options.ts";
export { readSlots, readSlotStates } from "./slot-reading.ts";
export { isThisMachine } from "./server-pid.ts";
export { missingPart } from "./missing-part.ts";
export { openRunner } from "./open.ts";
export { modelIdOf } from "./model-id.ts";
export { runGuard } from "./guard.ts";
export { embeddedInstalled, EMBEDDED_VERSION, installEmbedded } from "./embedded/install.ts";
export { serveEmbedded } from "./embedded/serve.ts";
export {
  lmStudioModels,
  lmStudioModelsV0,
  parseLmsLs,
  parseLmsPs,
  type LmStudioModel,
} from "./lm-studio.ts";
export { parseMetrics } from "./metrics.ts";
export { ollamaLoaded, ollamaModelFacts } from "./ollama-models.ts";
export {
  restoreSteps,
  slotControl,
  type Before,
  type ControlOptions,
  type ControlStep,
} from "./parallelism.ts";
