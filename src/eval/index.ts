export { bundlePaths } from "./bundle-paths.ts";
export { bundleState, evalStepFault, loadStepFault } from "./bundle.ts";
export type { EvalProgress } from "./cells-phase.ts";
export {
  chooseModel,
  comparableUrl,
  endpointWarning,
  loadEvalConfig,
  parseEvalConfig,
  type EvalConfig,
} from "./config.ts";
export { runEval, type EvalOutcome } from "./eval.ts";
export type { EvalOptions } from "./open-run.ts";
export { readLoad } from "./load-record.ts";
export { readManifest, type Manifest } from "./manifest.ts";
export { cellKeyText, matrix, messagesOf } from "./matrix.ts";
export { loadPack, type LoadedPack } from "./pack-file.ts";
export type * from "./records.ts";
export { readResponses } from "./responses.ts";
export { summarise, type VariantSummary } from "./summary.ts";
export { judgeModel, judgeRunnerName, loadJudgeConfig, type JudgeConfig } from "./judge-config.ts";
export { judgeStepFault } from "./judge-fault.ts";
export { runJudge, type JudgeOutcome } from "./judge.ts";
export { readWholeBundle } from "./judge-bundle.ts";
export type { JudgeProgress } from "./judge-phases.ts";
export { readJudged, type GroupView } from "./judged-view.ts";
