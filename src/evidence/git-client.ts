import { simpleGit, type SimpleGit } from "simple-git";
import { errorMessage } from "../core/errors.ts";
import { toolEnv, userPaths, type Env } from "../station/index.ts";

/** A git that does not answer is killed after so long without a byte from it. */
const SILENCE_MS = 30_000;

/**
 * Settings of every call. They go before all configuration files, so that none of these may run a
 * program, reach out, or start work in the background. core.fsync: by itself git syncs no ref.
 */
const SETTINGS = [
  "gc.auto=0",
  "maintenance.auto=false",
  "core.fsmonitor=false",
  "core.fsync=all",
  "core.pager=cat",
  "i18n.commitEncoding=UTF-8",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
];
/** Hooks never run, but for the one call that moves a branch: there a hook may veto. */
const NO_HOOKS = "core.hooksPath=/dev/null";

/** Variables of git that we set ourselves; every other one that was inherited is left out. */
const OWN_VARIABLES = [
  "GIT_TERMINAL_PROMPT",
  "GIT_OPTIONAL_LOCKS",
  "GIT_NO_LAZY_FETCH",
  "GIT_ALLOW_PROTOCOL",
  "GIT_ATTR_NOSYSTEM",
  "GIT_INDEX_FILE",
  "GIT_AUTHOR_NAME",
  "GIT_AUTHOR_EMAIL",
  "GIT_AUTHOR_DATE",
  "GIT_COMMITTER_NAME",
  "GIT_COMMITTER_EMAIL",
  "GIT_COMMITTER_DATE",
] as const;

type OwnVariable = (typeof OWN_VARIABLES)[number];

/** A git command that ended otherwise than with 0, with what it said. */
export class GitFailure extends Error {
  readonly exit_code: number;
  readonly stdout: string;

  constructor(exit_code: number, stdout: string, stderr: string) {
    super(saidBy(stderr) ?? saidBy(stdout) ?? `git ended with ${exit_code}`);
    this.name = "GitFailure";
    this.exit_code = exit_code;
    this.stdout = stdout;
  }
}

/** The line that says why: a hint or a warning may stand before it. */
function saidBy(text: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim());
  return (
    lines.find((line) => /^(?:fatal|error):/.test(line))?.replace(/^(?:fatal|error):\s*/, "") ??
    lines.find((line) => line !== "")
  );
}

interface GitCall {
  /** What the command reads from its standard input. */
  input?: string | Buffer;
  variables?: Partial<Record<OwnVariable, string>>;
  /** Lets the hooks of the person's own directory run: `update-ref` only. */
  hooks?: boolean;
}

/** git in one directory. Arguments are constants; whatever varies goes in by `input`. */
export interface GitClient {
  text: (args: readonly string[], call?: GitCall) => Promise<string>;
  /** `cat-file --batch`: what it answers is bytes. */
  objects: (names: readonly string[]) => Promise<Buffer>;
}

function variables(env: Env, directory: string, own: GitCall["variables"]): Record<string, string> {
  const { home } = userPaths(env);
  const config = env["XDG_CONFIG_HOME"];
  return {
    ...toolEnv(env, directory),
    // The person's own settings say which directories are theirs, and where their hooks are.
    HOME: home,
    ...(config === undefined ? {} : { XDG_CONFIG_HOME: config }),
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_ATTR_NOSYSTEM: "1",
    ...own,
  };
}

/**
 * The only place that makes a git client. The library refuses settings that could run something
 * unless they are allowed by name: the three allowed here switch such things off, with constants.
 */
function makeClient(
  directory: string,
  env: Env,
  call: GitCall,
  onFailure: (failure: GitFailure) => void,
): SimpleGit {
  return simpleGit({
    baseDir: directory,
    binary: "git",
    config: call.hooks === true ? SETTINGS : [...SETTINGS, NO_HOOKS],
    allowEnvironment: OWN_VARIABLES,
    // Without output of its own a command would be waited for 50 ms more than it takes.
    completion: { onClose: true, onExit: false },
    timeout: { block: SILENCE_MS },
    ...(call.input === undefined ? {} : { input: () => call.input }),
    errors: (error, { exitCode, stdOut, stdErr }) => {
      if (exitCode === 0) return error instanceof Error ? error : undefined;
      const [out, err] = [stdOut, stdErr].map((chunks) => Buffer.concat(chunks).toString("utf8"));
      const failure = new GitFailure(exitCode, out ?? "", err ?? "");
      // The library makes an error of its own of it, which knows neither code nor output.
      onFailure(failure);
      return failure;
    },
    unsafe: {
      allowUnsafeHooksPath: true,
      allowUnsafeFsMonitor: true,
      allowUnsafePager: true,
      allowUnsafeProtocolOverride: true,
    },
  }).env(variables(env, directory, call.variables));
}

/** git in `directory`, with a minimal environment. Failures are `GitFailure`. */
export function gitClient(directory: string, env: Env): GitClient {
  const ask = async <T>(call: GitCall, task: (git: SimpleGit) => Promise<T>): Promise<T> => {
    let failure: GitFailure | undefined;
    try {
      return await task(makeClient(directory, env, call, (found) => (failure = found)));
    } catch (error) {
      throw failure ?? error;
    }
  };
  return {
    text: async (args, call = {}) => ask(call, async (git) => git.raw([...args])),
    objects: async (names) => {
      const input = names.map((name) => `${name}\n`).join("");
      const answer: unknown = await ask({ input }, async (git) => git.binaryCatFile(["--batch"]));
      if (!Buffer.isBuffer(answer)) throw new TypeError("cat-file gave no bytes");
      return answer;
    },
  };
}

/** What a failure of git says, in one line. */
export function gitReason(error: unknown): string {
  return errorMessage(error).split("\n", 1)[0] ?? "";
}
