import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { publint } from "publint";
import { describe, expect, it } from "vitest";
import { isolatedEnv } from "../../helpers/command.ts";
import { recordImports } from "../../helpers/import-recorder.ts";
import { PROJECT_ROOT, projectText } from "../../helpers/project-files.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function npm(args: string[], cwd: string): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Packs the project (which builds it) and installs that as README says, in a prefix of its own. */
function packAndInstall(folder: string) {
  const [packed] = JSON.parse(
    npm(["pack", "--json", "--pack-destination", folder], PROJECT_ROOT),
  ) as [{ filename: string; files: { path: string }[] }];
  const prefix = join(folder, "prefix");
  const global = ["--no-audit", "--no-fund", "--prefer-offline", "--prefix", prefix];
  npm(["install", "-g", ...global, `./${packed.filename}`], folder);
  return {
    tarball: packed.filename,
    files: packed.files.map(({ path }) => path),
    installed: join(prefix, "lib", "node_modules", "touchstoned"),
    command: join(prefix, "bin", "touchstoned"),
  };
}

/** What of the program Node has to find and link for a command, before that asks for more. */
function loaded(main: string, words: readonly string[]): string[] {
  const folder = tempDir();
  const recorded = recordImports(folder);
  const env = { ...isolatedEnv(folder), ...recorded.variables };
  const said = spawnSync(process.execPath, [main, ...words], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
  expect(said).toMatchObject({ stderr: expect.stringContaining("station") });
  expect(said.stderr).not.toContain("Error");
  const dist = pathToFileURL(join(main, "..", "..")).href;
  const own = recorded.urls().filter((url) => url.startsWith(dist));
  const files = own.map((url) => url.slice(dist.length + 1));
  return [...new Set(files)].slice(0, 6);
}

describe("the published package", () => {
  it("holds what it needs, installs cleanly and runs", async () => {
    const folder = tempDir();
    const { tarball, files, installed, command } = packAndInstall(folder);

    const readme = projectText("README.md");
    expect(readme).toContain("npm pack ");
    expect(readme).toContain(`npm install -g ./${tarball}`);
    expect(files).toEqual(
      expect.arrayContaining(["dist/cli/main.js", "data/quantization.tsv", "LICENSE", "README.md"]),
    );
    expect(files.filter((path) => path.endsWith(".ts"))).toEqual([]);
    expect(files.filter((path) => /^(tests|scripts|bench|src)\//.test(path))).toEqual([]);

    const main = join(installed, "dist", "cli", "main.js");
    expect(readFileSync(main, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(statSync(main).mode & 0o111).toBe(0o111);
    // The development tools, the pinned Node among them, stay behind.
    expect(readdirSync(join(installed, "node_modules"))).not.toContain("typescript");

    const run = (...args: string[]) =>
      spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: "utf8" });
    const { version } = JSON.parse(projectText("package.json")) as { version: string };
    expect(run("--version")).toMatchObject({ status: 0, stdout: `${version}\n` });
    const byName = spawnSync(command, ["--version"], { encoding: "utf8" });
    expect(byName).toMatchObject({ status: 0, stdout: `${version}\n` });
    const help = run("--help");
    expect(help.status).toBe(0);
    expect(help.stdout).toContain("Usage: touchstoned");
    expect(run("no-such-command").status).toBe(2);

    // Asked many times a minute, they are one file each.
    const quick = ["cli/main.js", "core/program.js", "cli/fast.js", "core/errors.js"];
    const allowed = [...quick, "cli/commands/slots-allowed.js"];
    expect(loaded(main, ["slots", "allowed"])).toEqual(allowed);
    // Where there is no daemon, it looks for a service in the end.
    const status = [...quick, "cli/commands/status.js", "daemon/service/installed-state.js"];
    expect(loaded(main, ["status"])).toEqual(status);

    const oldNode = `data:text/javascript,${encodeURIComponent(
      'Object.defineProperty(process.versions, "node", { value: "20.19.0" })',
    )}`;
    const refused = spawnSync(process.execPath, ["--import", oldNode, main, "--version"], {
      encoding: "utf8",
    });
    expect(refused.status).toBe(78);
    expect(refused.stdout).toBe("");
    expect(refused.stderr).toMatch(
      /^touchstoned needs Node 22\.22 or newer; this is 20\.19\.0 .*\n$/,
    );

    const { messages } = await publint({ pkgDir: PROJECT_ROOT, strict: true });
    expect(messages).toEqual([]);
  });
});
