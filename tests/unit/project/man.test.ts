import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { manText } from "../../../scripts/man.ts";
import { manPage } from "../../../src/cli/man-page.ts";
import { EXIT } from "../../../src/core/errors.ts";
import { commandPaths } from "../../helpers/command-paths.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { PROJECT_ROOT, projectText } from "../../helpers/project-files.ts";
import { toolHere } from "../../helpers/shells.ts";

const PAGE = "man/touchstoned.1";

describe("man/touchstoned.1", () => {
  it("is what `npm run man` writes", () => {
    expect(projectText(PAGE), "stale: run npm run man").toBe(manText());
  });

  it("ships with the package, where npm looks for it", () => {
    const manifest = JSON.parse(projectText("package.json")) as { man: string; files: string[] };
    expect(manifest.man).toBe(PAGE);
    expect(manifest.files).toContain("man");
  });

  it("has every command with every option of it, and every exit code", async () => {
    const plain = projectText(PAGE).replaceAll(String.raw`\-`, "-");
    const paths = await commandPaths();
    // A family of commands is no command.
    const commands = [...paths].filter(
      ([path]) => path !== "" && ![...paths.keys()].some((other) => other.startsWith(`${path} `)),
    );
    for (const [path, options] of commands) {
      const part = plain.split(`\n.SS ${path}\n`)[1]?.split("\n.S")[0];
      for (const option of options.filter((name) => name !== "--help")) {
        expect(part, path).toMatch(new RegExp(`^\\.B (?:-\\w, )?${option}\\b`, "m"));
      }
    }
    for (const code of Object.values(EXIT)) expect(plain).toContain(`\n.B ${code}\n`);
  });

  test.each(onlyIf(toolHere("mandoc") !== null))("mandoc finds nothing to warn of", () => {
    const args = ["-T", "lint", "-W", "warning", join(PROJECT_ROOT, PAGE)];
    const run = spawnSync(toolHere("mandoc") ?? "", args, { encoding: "utf8" });
    expect(`${run.stdout}${run.stderr}`).toBe("");
  });

  test.each(onlyIf(toolHere("groff") !== null))("groff sets it without a warning", () => {
    const args = ["-ww", "-man", "-Tutf8", "-P-cbou", join(PROJECT_ROOT, PAGE)];
    const run = spawnSync(toolHere("groff") ?? "", args, { encoding: "utf8" });
    expect(run.stderr).toBe("");
    expect(run.stdout).toContain("EXIT STATUS");
  });
});

test("what roff would take for its own is shown as it was written", () => {
  const page = manPage(
    {
      path: [],
      about: "",
      usage: "x",
      arguments: [],
      options: [],
      after: "",
      commands: [
        {
          path: ["do"],
          about: "a\\b",
          usage: "x do",
          arguments: [{ shown: "<it's>", kind: "none", words: [], about: ".hidden" }],
          options: [],
          commands: [],
          after: "Plain\nExit codes: 0\n\nExample:\n  'quoted' `x` ~/y\n  .dot",
        },
      ],
    },
    { version: "1", date: "2026", exit_codes: [[0, "done"]], variables: [], files: [] },
  );
  expect(page).toContain(String.raw`A\eb.`);
  expect(page).toContain(String.raw`\&.hidden`);
  expect(page).toContain(String.raw`\(aqquoted\(aq \(gax\(ga \(ti/y`);
  expect(page).toContain(String.raw`\&.dot`);
  expect(page).toContain(".PP\nPlain\n.PP\nExit codes: 0");
});
