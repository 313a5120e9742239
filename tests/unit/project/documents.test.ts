import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundlePaths } from "../../../src/eval/bundle-paths.ts";
import { perfCsv } from "../../../src/eval/perf-csv.ts";
import { SCORE_COLUMNS } from "../../../src/eval/scores-csv.ts";
import { PROJECT_ROOT, projectFiles, projectText } from "../../helpers/project-files.ts";
import { commandPaths } from "../../helpers/command-paths.ts";

const documents = [
  ...projectFiles("docs", ".md"),
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "inbox/README.md",
  "examples/README.md",
];

/** GitHub's anchor of a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

function anchorsOf(path: string): string[] {
  const headings = withoutCode(projectText(path)).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = ""]) => anchor(heading));
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, "");
}

/** Everything that stands as code in a document: fenced lines and inline spans. */
function codeOf(text: string): string[] {
  const fenced = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].flatMap(([, body = ""]) =>
    body.split("\n"),
  );
  const inline = [...withoutCode(text).matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  return [...fenced, ...inline].map((line) => line.trim().replace(/^\$ /, ""));
}

describe.each(documents)("%s", (path) => {
  const text = projectText(path);

  it("links to files and headings that exist", () => {
    const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const broken = links.filter((link) => {
      if (/^[a-z]+:/.test(link)) return false;
      const [file = "", heading] = link.split("#");
      const target = file === "" ? path : join(dirname(path), decodeURI(file));
      if (!existsSync(join(PROJECT_ROOT, target))) return true;
      return heading !== undefined && !anchorsOf(target).includes(heading);
    });
    expect(broken).toEqual([]);
  });

  it("names npm scripts that exist", () => {
    const { scripts } = JSON.parse(projectText("package.json")) as { scripts: object };
    const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, script = ""]) => script);
    expect(named.filter((script) => !(script in scripts))).toEqual([]);
  });

  it("names commands and options that exist", async () => {
    const known = await commandPaths();
    const declared = projectFiles("src/cli/declare", ".ts").map(projectText).join("\n");
    const unknown: string[] = [];
    for (const line of codeOf(text)) {
      const words = /(?:^|[\s/])touchstoned((?: [^|;&>#]+)?)/.exec(line)?.[1]?.trim().split(/\s+/);
      if (words === undefined || words[0] === "" || words[0]?.startsWith("-")) continue;
      // Hidden commands, for the program's own children, are in no help text.
      if (words[0]?.startsWith("_") === true && declared.includes(`"${words[0]}"`)) continue;
      // The longest run of words that is a command; what follows are its arguments.
      const command = [2, 1]
        .map((n) => words.slice(0, n).join(" "))
        .find((name) => known.has(name));
      if (command === undefined) {
        unknown.push(line);
        continue;
      }
      const own = line.split(" -- ")[0] ?? "";
      const options = [...own.matchAll(/(?<=\s|\[)--[a-z][a-z-]*/g)].map(([option]) => option);
      const bad = options.filter((option) => !(known.get(command) ?? []).includes(option));
      if (bad.length > 0) unknown.push(`${line} (${bad.join(", ")})`);
    }
    expect(unknown).toEqual([]);
  });
});

describe("docs/read-a-bundle.md", () => {
  const text = projectText("docs/read-a-bundle.md");

  /** The names in code of the first paragraph below a heading. */
  function namesBelow(heading: string): string[] {
    const paragraph = text.split(`## ${heading}\n\n`)[1]?.split("\n\n")[0] ?? "";
    return [...paragraph.matchAll(/`([a-z0-9_]+)`/g)].map(([, name = ""]) => name);
  }

  it("lists the columns of both tables in their order", () => {
    expect(namesBelow("perf.csv")).toEqual(perfCsv([]).trim().split(","));
    expect(namesBelow("scores.csv")).toEqual([...SCORE_COLUMNS]);
  });

  it("names every file of a bundle", () => {
    const files = Object.values(bundlePaths(""));
    expect(files.filter((file) => !text.includes(`\`${file}\``))).toEqual([]);
  });
});
