/** The part of this room that loads no HTTP library: what a running server has right now. */
export { askRunner, type LiveAnswer, type LiveRunner, type RunnerQuestion } from "./live.ts";
export type { ServiceSlots } from "./ollama-service.ts";
