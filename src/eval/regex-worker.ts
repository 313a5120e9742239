import { parentPort } from "node:worker_threads";
import { compileSchema } from "./json-schema.ts";

/**
 * One question to the worker. Patterns and schemas come from packs and may take exponential time
 * (a schema has `pattern` as well), so both are tried where they can be ended from outside.
 */
export type WorkerTask =
  | { kind: "regex"; pattern: string; flags: string; text: string }
  | { kind: "json_schema"; schema: Record<string, unknown>; value: unknown };

export type WorkerReply = { passed: boolean; reason: string | null } | { fault: string };

/** Everything that is not the check itself: loading the library, compiling the schema. */
function prepare(task: WorkerTask): () => WorkerReply {
  if (task.kind === "regex") {
    const pattern = new RegExp(task.pattern, task.flags);
    return () => {
      const passed = pattern.test(task.text);
      return { passed, reason: passed ? null : "the pattern does not match" };
    };
  }
  const validate = compileSchema(task.schema);
  return () => {
    const reason = validate(task.value);
    return { passed: reason === null, reason };
  };
}

parentPort?.on("message", (task: WorkerTask) => {
  try {
    const check = prepare(task);
    // The limit is on the check, so its time starts here.
    parentPort?.postMessage("prepared");
    parentPort?.postMessage(check());
  } catch (error) {
    parentPort?.postMessage({ fault: error instanceof Error ? error.message : String(error) });
  }
});
