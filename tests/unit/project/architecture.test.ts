import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import config from "../../../oxlint.config.ts";
import { PROJECT_ROOT, projectFiles, projectText } from "../../helpers/project-files.ts";

// What the linter (oxlint.config.ts) cannot say. Import rules and function lengths are there.

const sources = projectFiles("src", ".ts");

/** Files of src/ in which `pattern` stands in the code, comments left out. */
function filesWith(pattern: RegExp): string[] {
  return sources.filter((path) => pattern.test(withoutComments(projectText(path))));
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

describe("architecture", () => {
  it("finds the sources", () => {
    expect(sources).toContain("src/cli/main.ts");
    expect(sources.length).toBeGreaterThan(20);
  });

  it("writes to the terminal in cli/render.ts and cli/main.ts only", () => {
    const writing =
      /process\.std(out|err)|\bstd(out|err)\.write|\bconsole\.(log|error|warn|info|debug)\b|writeSync\([12],/;
    const allowed = [
      // Has no terminal: it tells its parent over a pipe how the server fares.
      "src/cli/commands/guard.ts",
      "src/cli/commands/take-up.ts",
      "src/cli/main.ts",
      "src/cli/render.ts",
    ];
    // The made model's training text has code of all kinds in it, but is a text.
    const found = filesWith(writing).filter((path) => path !== "src/models/training-text.ts");
    expect(found).toEqual(allowed);
  });

  it("ends the process in cli/main.ts only", () => {
    expect(filesWith(/process\.exit\(|process\.exitCode/)).toEqual(["src/cli/main.ts"]);
  });

  it("reads clocks and chance in core only", () => {
    const reading = /Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(|process\.hrtime/;
    expect(filesWith(reading).filter((path) => !path.startsWith("src/core/"))).toEqual([]);
  });

  it("keeps every file below 400 lines", () => {
    const long = [...sources, ...projectFiles("tests", ".ts"), ...projectFiles("scripts", ".ts")]
      .map((path) => ({ path, lines: projectText(path).split("\n").length }))
      .filter(({ lines }) => lines > 401);
    expect(long).toEqual([]);
  });

  it("gives every room of src/ its import rules and its index.ts", () => {
    const rooms = [...new Set(sources.map((path) => path.split("/")[1] ?? ""))];
    const ruled = (config.overrides ?? []).flatMap(({ files }) => files);
    for (const room of rooms) {
      expect(ruled, `rules for src/${room}`).toContain(`src/${room}/**/*.ts`);
      // core is a toolbox that is entered by file, cli is entered by nobody.
      if (room === "core" || room === "cli") continue;
      expect(existsSync(join(PROJECT_ROOT, "src", room, "index.ts")), `index of ${room}`).toBe(
        true,
      );
    }
  });

  it("pins every dependency to one version", () => {
    const manifest = JSON.parse(projectText("package.json")) as Record<string, object>;
    const versions = Object.values({ ...manifest["dependencies"], ...manifest["devDependencies"] });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
  });

  it("names the same oldest Node in main.ts and package.json", () => {
    const manifest = JSON.parse(projectText("package.json")) as { engines: { node: string } };
    const [major, minor] = /\d+\.\d+/.exec(manifest.engines.node)?.[0].split(".") ?? [];
    expect(projectText("src/cli/main.ts")).toContain(`OLDEST_NODE = [${major}, ${minor}]`);
  });
});
