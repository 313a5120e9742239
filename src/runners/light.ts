/** The part of this room that loads no HTTP library: what a running server has right now. */
export { askRunner } from "./live.ts";
export type { LiveRunner, RunnerQuestion } from "./live-answer.ts";
