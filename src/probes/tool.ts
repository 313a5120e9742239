import { delimiter } from "node:path";
import { runCommand } from "../core/process.ts";
import { onPath } from "../core/on-path.ts";

/** system_profiler and a sleeping GPU take seconds; more than this is a hang. */
const COMMAND_LIMIT_S = 15;

/** Where drivers put their tools and a service's PATH does not look. */
const MORE_PLACES = ["/usr/bin", "/usr/sbin", "/usr/lib/wsl/lib", "/opt/rocm/bin"];

export interface ToolOptions {
  /** Variables for the tools, PATH above all: it is then the only one that is looked at. */
  env?: Record<string, string>;
  limit_s?: number;
}

export interface ToolAnswer {
  ok: boolean;
  /** What it printed, also where it failed in the end: several tools print what they know first. */
  text: string;
  /** One line; null where `ok`. */
  reason: string | null;
}

export interface Tools {
  has(file: string): boolean;
  ask(file: string, ...args: string[]): Promise<ToolAnswer>;
}

/** The tools of this system. `ask` never rejects. */
export function systemTools(options: ToolOptions = {}): Tools {
  const { limit_s = COMMAND_LIMIT_S } = options;
  const path =
    options.env === undefined
      ? [process.env["PATH"] ?? "", ...MORE_PLACES].join(delimiter)
      : (options.env["PATH"] ?? "");
  const has = (file: string): boolean => onPath(file, path);
  return {
    has,
    async ask(file, ...args) {
      if (!has(file)) return { ok: false, text: "", reason: `${file} is not on PATH` };
      // One language: numbers and words of some tools follow the user's.
      const env = { ...options.env, PATH: path, LC_ALL: "C" };
      const result = await runCommand(file, args, { timeout_s: limit_s, env });
      if (result.ok) return { ok: true, text: result.stdout, reason: null };
      // Several of these tools print their errors on stdout.
      const said = `${result.stderr}\n${result.stdout}`.trim().split("\n", 1)[0] ?? "";
      const why = result.timed_out
        ? `no answer within ${limit_s} s`
        : said === ""
          ? (result.error ?? "failed")
          : said.slice(0, 160);
      return { ok: false, text: result.stdout, reason: `${file}: ${why}` };
    },
  };
}
