import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { projectText } from "../../helpers/project-files.ts";

/** What is imported when a file is loaded; `import()` and types come later or never. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^;"']*?\sfrom\s+)?["']([^"']+)["'];/gms;

/** Everything that comes along with `path`: files of ours and names of libraries. */
function broughtBy(path: string): Set<string> {
  const found = new Set<string>();
  const queue = [path];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name = ""] of projectText(file).matchAll(STATIC_IMPORT)) {
      if (name.startsWith(".")) queue.push(join(dirname(file), name));
      else found.add(name);
    }
  }
  return found;
}

test("the daemon that waits for weeks keeps neither schemas nor parsers of what it does not do", () => {
  const brought = broughtBy("src/daemon/resident.ts");
  expect(brought).toContain("src/daemon/loop.ts");
  expect(brought).toContain("pino");
  const heavy = [
    "zod",
    "yaml",
    "execa",
    "systeminformation",
    "simple-git",
    "ajv",
    "croner",
    "node:http",
  ];
  expect(heavy.filter((name) => brought.has(name))).toEqual([]);
});

test("the same look finds a library that is there", () => {
  expect(broughtBy("src/station/schemas.ts")).toContain("zod");
});
