export { bundlePaths } from "./bundle-paths.ts";
export { bundleState, evalStepFault, loadStepFault, type BundleState } from "./bundle.ts";
export type { EvalProgress } from "./cells-phase.ts";
export {
  chooseModel,
  comparableUrl,
  endpointWarning,
  evalConfigSchema,
  loadEvalConfig,
  parseEvalConfig,
  type EvalConfig,
  type LoadedEvalConfig,
} from "./config.ts";
export { runEval, type EvalOutcome } from "./eval.ts";
export type { EvalOptions } from "./open-run.ts";
export type { EvalProbes, RunningSampler } from "./eval-probes.ts";
export type { EvalEvent } from "./events.ts";
export { readLoad, type LoadRecord } from "./load-record.ts";
export { readManifest, type Manifest } from "./manifest.ts";
export { loadPack, parsePack, type LoadedPack } from "./pack-file.ts";
export { packSchema } from "./pack.ts";
export type * from "./records.ts";
export { readResponses } from "./responses.ts";
export { summarise, type VariantSummary } from "./summary.ts";
export {
  judgeConfigSchema,
  judgeModel,
  judgeRunnerName,
  loadJudgeConfig,
  parseJudgeConfig,
  type JudgeConfig,
  type LoadedJudgeConfig,
} from "./judge-config.ts";
export { judgeStepFault } from "./judge-fault.ts";
export { runJudge, type JudgeOptions, type JudgeOutcome } from "./judge.ts";
export { readWholeBundle } from "./judge-bundle.ts";
export type { JudgeProgress } from "./judge-phases.ts";
export { readJudged, type GroupView } from "./judged-view.ts";
