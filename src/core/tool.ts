import { spawn } from "node:child_process";
import { errorMessage } from "./errors.ts";

export interface ToolResult {
  exit_code: number | null;
  signal: string | null;
  stderr: string;
  /** Why it could not be started at all, else null. */
  error: string | null;
}

const MAX_STDERR = 4000;

/**
 * Runs a small program of the system that says nothing but its exit code, for what is asked for all
 * the time: `runCommand` can more, and costs a library. Never rejects. The program gets `env` and
 * nothing of ours, and `descriptors` from number 3 on.
 */
export function runTool(
  file: string,
  args: readonly string[],
  options: { timeout_s: number; env: Record<string, string>; descriptors?: readonly number[] },
): Promise<ToolResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ["ignore", "ignore", "pipe", ...(options.descriptors ?? [])],
      env: options.env,
      timeout: options.timeout_s * 1000,
      killSignal: "SIGKILL",
    });
    let stderr = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(0, MAX_STDERR);
    });
    child.once("error", (error) => {
      resolve({ exit_code: null, signal: null, stderr, error: errorMessage(error) });
    });
    child.once("close", (exit_code, signal) => resolve({ exit_code, signal, stderr, error: null }));
  });
}

/**
 * Runs a program whose answer is all that it writes to its standard output; its complaints go where
 * ours go, or, with `quiet`, into `complaints`. `exit_code` is null where it was killed or could not be
 * started. Never rejects.
 */
export function runForAnswer(
  file: string,
  args: readonly string[],
  options: { cwd: string; quiet?: boolean; timeout_s?: number },
): Promise<{ exit_code: number | null; answer: string; complaints: string }> {
  return new Promise((resolve) => {
    const stderr = options.quiet === true ? "pipe" : "inherit";
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", stderr],
      cwd: options.cwd,
      ...(options.timeout_s === undefined ? {} : { timeout: options.timeout_s * 1000 }),
    });
    let answer = "";
    let complaints = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (answer += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    child.once("error", (error) => {
      resolve({ exit_code: null, answer, complaints: errorMessage(error) });
    });
    child.once("close", (exit_code) => resolve({ exit_code, answer, complaints }));
  });
}
