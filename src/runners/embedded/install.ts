import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXIT, TouchstonedError, systemErrorCode } from "../../core/errors.ts";
import { ensureDir } from "../../core/files.ts";
import { runCommand } from "../../core/process.ts";
import { packageFile } from "../../core/program.ts";
import { userStateDir } from "../../core/user-dirs.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The version of node-llama-cpp that the shipped lock files name. */
export const EMBEDDED_VERSION = "3.21.1";

/** Platforms for which a lock file ships (`installers/embedded/<platform>-<arch>`). */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64"];

const INSTALL_LIMIT_S = 1800;

/** No install script runs: the platform package brings its binary along. */
const NPM_ARGS = [
  "ci",
  "--omit=optional",
  "--omit=dev",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
];

function notInstalled(message: string, hint: string): TouchstonedError {
  return new TouchstonedError({
    code: "embedded_not_installed",
    exitCode: EXIT.unavailable,
    message,
    hint,
  });
}

/** Where the embedded runner lies or would lie: once per user and version. */
export function embeddedDir(env: Env): string {
  return join(userStateDir(env), "embedded", EMBEDDED_VERSION);
}

/** The directory of the installed runner, or null. Half an installation never has this name. */
export function embeddedInstalled(env: Env): string | null {
  const dir = embeddedDir(env);
  return existsSync(join(dir, "node_modules", "node-llama-cpp", "package.json")) ? dir : null;
}

/** Like `embeddedInstalled`, but throws embedded_not_installed (exit code 69). */
export function embeddedModuleDir(env: Env): string {
  const dir = embeddedInstalled(env);
  if (dir !== null) return dir;
  throw notInstalled("the embedded runner is not installed", "touchstoned runner install embedded");
}

/** npm of the very Node that runs us where it has one; nvm and the like put it beside `node`. */
export function npmCommand(exec_path: string, env: Env): [file: string, ...args: string[]] {
  const bin = dirname(exec_path);
  const script = join(dirname(bin), "lib", "node_modules", "npm", "bin", "npm-cli.js");
  if (existsSync(script)) return [exec_path, script];
  const paths = [bin, ...(env["PATH"] ?? "").split(":")].filter((path) => path !== "");
  const npm = paths.map((path) => join(path, "npm")).find((path) => existsSync(path));
  if (npm !== undefined) return [npm];
  throw notInstalled(
    "npm was found neither beside node nor on PATH",
    "install npm, then try again",
  );
}

export interface InstallOptions {
  env: Env;
  say: (line: string) => void;
  signal?: AbortSignal;
  /** For tests; else this machine's. */
  platform?: string;
  npm?: readonly [file: string, ...args: string[]];
}

export interface InstallReport {
  version: string;
  dir: string;
  /** False where it was there already. */
  installed: boolean;
}

async function runNpm(dir: string, options: InstallOptions): Promise<void> {
  const [file, ...args] = options.npm ?? npmCommand(process.execPath, options.env);
  const result = await runCommand(file, [...args, ...NPM_ARGS], {
    cwd: dir,
    timeout_s: INSTALL_LIMIT_S,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  if (result.ok) return;
  const lines = `${result.stdout}\n${result.stderr}`.trim().split("\n").slice(-8).join("\n");
  throw notInstalled(
    `npm could not install the embedded runner: ${result.error ?? ""}\n${lines}`,
    "is the npm registry reachable? `npm ping` says; then try again",
  );
}

/**
 * Installs node-llama-cpp and this machine's one platform package from the lock file that ships with
 * us: about 83 MB, no install script is run, nothing outside the user's state directory is touched.
 * Made beside its place and moved there as a whole. Throws embedded_not_installed (exit code 69).
 */
export async function installEmbedded(options: InstallOptions): Promise<InstallReport> {
  const { env, say } = options;
  const dir = embeddedDir(env);
  const report = { version: EMBEDDED_VERSION, dir };
  if (embeddedInstalled(env) !== null) {
    say(`the embedded runner ${EMBEDDED_VERSION} is already in ${dir}`);
    return { ...report, installed: false };
  }
  const platform = options.platform ?? `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw notInstalled(
      `there is no embedded runner for ${platform} (only for ${PLATFORMS.join(", ")})`,
      "use llama-server or Ollama",
    );
  }
  ensureDir(dirname(dir), 0o700);
  const temporary = mkdtempSync(join(dirname(dir), `.${EMBEDDED_VERSION}-`));
  try {
    cpSync(packageFile(`installers/embedded/${platform}`), temporary, { recursive: true });
    say(`installing node-llama-cpp ${EMBEDDED_VERSION} for ${platform} (about 25 MB to download)`);
    await runNpm(temporary, options);
    moveInto(temporary, dir);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  say(`installed in ${dir}`);
  return { ...report, installed: true };
}

/** Two installations at once are no harm: the second finds the place taken by an equal one. */
function moveInto(temporary: string, dir: string): void {
  try {
    renameSync(temporary, dir);
  } catch (error) {
    const code = systemErrorCode(error);
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}
