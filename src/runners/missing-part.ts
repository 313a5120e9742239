import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { onPath } from "../core/on-path.ts";
import { embeddedInstalled } from "./embedded/install.ts";
import type { RunnerSettings } from "./runner.ts";

/** What a runner lacks that would only be started when it is needed; null where all is there. */
export function missingPart(
  { kind, start }: Pick<RunnerSettings, "kind" | "start">,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  if (start === null) return "no url and no start";
  if (!existsSync(start.model_file)) return `there is no model file ${start.model_file}`;
  if (kind === "embedded") {
    return embeddedInstalled(env) === null
      ? "the embedded runner is not installed: touchstoned runner install embedded"
      : null;
  }
  const binary = start.binary ?? kind;
  const there = isAbsolute(binary) ? existsSync(binary) : onPath(binary, env["PATH"] ?? "");
  return there ? null : `there is no program ${binary}`;
}
