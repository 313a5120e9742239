export type * from "./runner.ts";
export { connectRunner, DEFAULT_URL, RUNNER_KINDS } from "./registry.ts";
export { startRunner, type StartedRunner } from "./start.ts";
export { openRunner } from "./open.ts";
export { modelIdOf } from "./model-id.ts";
export { runGuard } from "./guard.ts";
export { embeddedInstalled, EMBEDDED_VERSION, installEmbedded } from "./embedded/install.ts";
export { serveEmbedded } from "./embedded/serve.ts";
