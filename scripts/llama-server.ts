// Where the real llama-server for tests, demo and benchmarks comes from.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface FoundServer {
  /** Absolute path of the program; null where there is none. */
  path: string | null;
  /** What `--version` says, first line. */
  version: string | null;
  /** Why there is none, for people. */
  reason: string;
  /** True where the only thing wrong is that the package mirror does not answer. */
  mirror_silent: boolean;
}

/** What get-llama-server.sh ends with where nobody answers at the mirror's address. */
const MIRROR_SILENT = 75;

function onPath(program: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
}

function versionOf(path: string): string | null {
  const result = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 60_000 });
  if (result.status !== 0) return null;
  return `${result.stderr}${result.stdout}`.split("\n").find((line) => line !== "") ?? "";
}

/** The folder that a fetched llama-server is kept in, below the project's root. */
export function cacheFolder(root: string): string {
  return join(root, ".cache", "llama-server");
}

/** A server that is here already: from TOUCHSTONED_TEST_LLAMA_SERVER, PATH, or fetched before. */
export function presentServer(root: string): { path: string; version: string } | undefined {
  const candidates = [
    process.env["TOUCHSTONED_TEST_LLAMA_SERVER"],
    onPath("llama-server"),
    join(cacheFolder(root), "llama-server"),
  ];
  for (const path of candidates) {
    if (path === undefined || path === "" || !existsSync(path)) continue;
    const version = versionOf(path);
    if (version !== null) return { path, version };
  }
  return undefined;
}

/** Finds a real llama-server, and on a Debian-like system without one fetches it. */
export function findLlamaServer(root: string): FoundServer {
  const present = presentServer(root);
  if (present !== undefined) return { ...present, reason: "", mirror_silent: false };
  const none = { path: null, version: null, mirror_silent: false };
  if (onPath("apt-get") === undefined) {
    return { ...none, reason: "It is not in PATH. On macOS: brew install llama.cpp" };
  }
  process.stderr.write("llama-server is not here: fetching Debian's package (about 20 MB) ...\n");
  const started = performance.now();
  const script = join(root, "scripts", "get-llama-server.sh");
  const result = spawnSync("bash", [script, cacheFolder(root)], {
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    timeout: 300_000,
  });
  process.stderr.write(
    `get-llama-server.sh took ${((performance.now() - started) / 1000).toFixed(1)} s\n`,
  );
  if (result.status === 0) {
    const fetched = presentServer(root);
    if (fetched !== undefined) return { ...fetched, reason: "", mirror_silent: false };
    return { ...none, reason: `${cacheFolder(root)} was filled, but its program does not run` };
  }
  const said = `${result.stdout}${result.stderr}`.trim().split("\n").slice(-8).join("\n");
  if (result.status === MIRROR_SILENT) {
    return { ...none, mirror_silent: true, reason: `The package mirror does not answer:\n${said}` };
  }
  const how = result.error?.message ?? `exit status ${result.status ?? result.signal}`;
  return { ...none, reason: `get-llama-server.sh failed (${how}):\n${said}` };
}
