// Makes a fresh clone ready and then runs a script of this project with the pinned Node:
//
//   node scripts/bootstrap.mjs scripts/demo.ts [ARGUMENTS]
//
// It may itself be run by any Node from 18 on and before `npm ci`, hence: Node's built-ins only,
// plain JavaScript, nothing newer than Node 18 knows.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const PINNED_NODE = join(
  ROOT,
  "node_modules",
  ".bin",
  process.platform === "win32" ? "node.cmd" : "node",
);
/** EX_CONFIG of sysexits.h, as everywhere in this project (src/core/errors.ts). */
const EXIT_BAD_CONFIG = 78;

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * What is wrong with node_modules, or undefined where it holds what package-lock.json asks for. npm
 * leaves its own list of what it installed there, written last: after an install that was broken
 * off there is none.
 */
function dependencyFault(lock) {
  const installed = readJson(join(ROOT, "node_modules", ".package-lock.json"));
  if (installed === undefined) return "node_modules is not there (or not whole)";
  for (const [path, wanted] of Object.entries(lock.packages)) {
    // Optional ones are for other platforms, mostly.
    if (path === "" || wanted.optional === true || wanted.devOptional === true) continue;
    const found = installed.packages[path];
    if (found === undefined || found.version !== wanted.version) {
      return `${path} is ${found?.version ?? "missing"}, package-lock.json asks for ${wanted.version}`;
    }
  }
  return undefined;
}

/** The search path without our own node_modules: npm is not to run on a Node that it replaces. */
function outsidePath() {
  const inside = join(ROOT, "node_modules");
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(inside))
    .join(delimiter);
}

function npm(args) {
  const started = performance.now();
  say(`npm ${args.join(" ")} ...`);
  const result = spawnSync("npm", args, {
    cwd: ROOT,
    // npm's report belongs beside the answer of the command, not into it.
    stdio: ["ignore", 2, 2],
    env: { ...process.env, PATH: outsidePath() },
    shell: process.platform === "win32",
  });
  const seconds = (performance.now() - started) / 1000;
  if (result.status === 0) {
    say(`npm ${args[0]} took ${seconds.toFixed(1)} s`);
    return true;
  }
  say(
    `npm ${args.join(" ")} failed: ${result.error?.message ?? `it ended with ${result.status ?? result.signal}`}`,
  );
  return false;
}

/** The version that the pinned Node says it has; undefined where it does not run. */
function pinnedVersion() {
  if (!existsSync(PINNED_NODE)) return undefined;
  const result = spawnSync(PINNED_NODE, ["--version"], { encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim().replace(/^v/, "") : undefined;
}

/** True where this very process is new enough to run the project (package.json, `engines`). */
function ownNodeWillDo(manifest) {
  const [wantedMajor, wantedMinor] = manifest.engines.node.match(/\d+/g).map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** The Node to run the script with, after everything that is missing was set up. */
function setUp() {
  const manifest = readJson(join(ROOT, "package.json"));
  const lock = readJson(join(ROOT, "package-lock.json"));
  const fault = dependencyFault(lock);
  if (fault !== undefined) {
    say(fault);
    // Engine warnings speak of the Node that runs npm; the project runs on the pinned one.
    if (!npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"])) process.exit(1);
  }
  const pin = lock.packages["node_modules/node"].version;
  if (pinnedVersion() === pin) return PINNED_NODE;
  say(`the pinned Node ${pin} does not run: its install script fetches it`);
  npm(["rebuild", "node", "--ignore-scripts=false", "--loglevel=error"]);
  if (pinnedVersion() === pin) return PINNED_NODE;
  if (ownNodeWillDo(manifest)) {
    say(`going on with Node ${process.versions.node} instead of ${pin}`);
    return process.execPath;
  }
  say(
    `no usable Node: ${pin} could not be installed, and ${process.versions.node} is too old ` +
      `(needed: ${manifest.engines.node}). Install a newer Node from https://nodejs.org and try again.`,
  );
  return process.exit(EXIT_BAD_CONFIG);
}

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  say("usage: node scripts/bootstrap.mjs SCRIPT [ARGUMENTS]");
  process.exit(2);
}
const node = setUp();
const child = spawn(node, [resolve(ROOT, script), ...args], {
  stdio: "inherit",
  env: {
    ...process.env,
    PATH: [join(ROOT, "node_modules", ".bin"), outsidePath()].join(delimiter),
  },
});
// A terminal sends its signals to the child as well; others reach only this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  say(`${node} could not be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
});
