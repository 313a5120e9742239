import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const RECORDER = `
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    appendFileSync(process.env.IMPORTS, found.url + "\\n");
    return found;
  },
});
`;

/** Has a command write down everything that it imports, in `dir`. */
export function recordImports(dir: string): {
  /** For the environment of the command. */
  variables: Record<string, string>;
  /** URLs of what was imported so far. */
  urls: () => string[];
} {
  const [recorder, imports] = [join(dir, "recorder.mjs"), join(dir, "imports")];
  writeFileSync(recorder, RECORDER);
  writeFileSync(imports, "");
  return {
    variables: { IMPORTS: imports, NODE_OPTIONS: `--import=${pathToFileURL(recorder).href}` },
    urls: () => readFileSync(imports, "utf8").trim().split("\n"),
  };
}
