import { jobLimitsSchema } from "../../../src/core/job-settings.ts";
import { sha256Hex } from "../../../src/core/json.ts";
import type { QueueContext } from "../../../src/queue/index.ts";

/** A context in which every file is there and differs from every other by its path. */
export function queueContext(change: Partial<QueueContext> = {}): QueueContext {
  return {
    policy_defaults: {},
    limits: jobLimitsSchema.parse({}),
    runner_names: ["local", "other"],
    allowed_reset_commands: ["lms unload --all", "ollama stop MODEL"],
    look: (_kind, path) => ({ ok: true, sha256: sha256Hex(path) }),
    ...change,
  };
}
