// What is laid over the Debian tree: Node, npm, a model server, the program, newer versions of it.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { madeModel } from "../../helpers/llama-server.ts";
import { PROJECT_ROOT, projectFiles } from "../../helpers/project-files.ts";

/** Folders for `MachineSetting.layers`. */
export interface Layers {
  /** Node and npm in /opt/node. */
  node: string;
  /** A real llama-server in /opt/llama-server, the made model in /opt/models. */
  llama: string;
  /** The program as `npm install -g` puts it below /usr/local, and Node beside it. */
  program: string;
  /** A clone of what is committed here, as others get it: to be cloned. */
  clone: string;
  /** Newer versions in /opt/next and, one that does not start, in /opt/broken. */
  newer: string;
}

/** The versions in `newer`. */
export const NEXT_VERSION = "99.1.0";
export const BROKEN_VERSION = "99.2.0";

/** In all machines: this project, read only. */
export const PROJECT_THERE = "/srv/project";

/** Makes all layers in a new folder; what removes it. */
export function makeLayers(): { layers: Layers; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "touchstoned-layers-"));
  chmodSync(folder, 0o755);
  const at = (name: keyof Layers): string => join(folder, name);
  try {
    node(at("node"));
    llama(at("llama"));
    program(at("program"));
    newer(at("newer"), join(at("program"), MODULE));
    const bare = ["clone", "--quiet", "--bare", "--no-hardlinks", PROJECT_ROOT, at("clone")];
    execFileSync("git", bare, { stdio: ["ignore", "ignore", "inherit"] });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const layers = {
    node: at("node"),
    llama: at("llama"),
    program: at("program"),
    newer: at("newer"),
    clone: at("clone"),
  };
  return {
    layers,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Copies as links where it can: a layer is only read. */
function lay(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  execFileSync("sh", ["-c", 'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"', from, to]);
}

function node(folder: string): void {
  const npm = dirname(
    dirname(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim())),
  );
  lay(realpathSync(process.execPath), join(folder, "opt/node/bin/node"));
  lay(npm, join(folder, "opt/node/lib/node_modules/npm"));
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, "opt/node/bin", name));
  }
}

function llama(folder: string): void {
  const cache = join(PROJECT_ROOT, ".cache", "llama-server");
  const script = join(PROJECT_ROOT, "scripts", "get-llama-server.sh");
  execFileSync("bash", [script, cache], { stdio: ["ignore", "ignore", "inherit"] });
  lay(join(cache, "root"), join(folder, "opt/llama-server/root"));
  // Its starter names every path from the root.
  const starter = readFileSync(join(cache, "llama-server"), "utf8");
  const there = join(folder, "opt/llama-server/llama-server");
  writeFileSync(there, starter.replaceAll(/[^":\s]+\/root\/usr\//g, "/opt/llama-server/root/usr/"));
  chmodSync(there, 0o755);
  lay(madeModel(), join(folder, "opt/models/tiny.gguf"));
}

const MODULE = "usr/local/lib/node_modules/touchstoned";

/** As `npm install -g` would, without asking a registry: the packed files and the locked dependencies. */
function program(folder: string): void {
  const npm = (...args: string[]): string =>
    execFileSync("npm", args, {
      cwd: PROJECT_ROOT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  const module = join(folder, MODULE);
  mkdirSync(module, { recursive: true });
  // What `npm test` has just built need not be built once more.
  const ready = isBuilt() ? ["--ignore-scripts"] : [];
  const [packed] = JSON.parse(npm("pack", "--json", "--pack-destination", folder, ...ready)) as [
    { filename: string },
  ];
  const archive = join(folder, packed.filename);
  execFileSync("tar", ["-xzf", archive, "--strip-components=1", "--no-same-owner", "-C", module]);
  rmSync(archive);
  const [, ...dependencies] = npm("ls", "--omit=dev", "--all", "--parseable").trim().split("\n");
  for (const from of dependencies) {
    const to = join(module, relative(PROJECT_ROOT, from));
    // One that lies within another came with it.
    if (!existsSync(to)) lay(from, to);
  }
  const bin = join(folder, "usr/local/bin");
  mkdirSync(bin, { recursive: true });
  symlinkSync("../lib/node_modules/touchstoned/dist/cli/main.js", join(bin, "touchstoned"));
  lay(realpathSync(process.execPath), join(bin, "node"));
}

/** True where dist/ is newer than everything that it is made of. */
function isBuilt(): boolean {
  const at = (path: string): number =>
    statSync(join(PROJECT_ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const builders = ["scripts/build.ts", "scripts/bundle.ts"];
  const settings = ["tsconfig.json", "tsconfig.build.json"];
  const sources = [...projectFiles("src", ".ts"), ...builders, ...settings];
  const built = at("dist/cli/main.js");
  return built > 0 && sources.every((path) => at(path) < built);
}

function newer(folder: string, module: string): void {
  for (const [name, version] of [
    ["next", NEXT_VERSION],
    ["broken", BROKEN_VERSION],
  ] as const) {
    const to = join(folder, "opt", name, "touchstoned");
    mkdirSync(dirname(to), { recursive: true });
    cpSync(module, to, { recursive: true });
    const manifest = join(to, "package.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"version": "[^"]+"/, `"version": "${version}"`));
  }
  const loop = join(folder, "opt/broken/touchstoned/dist/daemon/daemon.js");
  writeFileSync(loop, 'throw new Error("a version that does not start");\n');
}
