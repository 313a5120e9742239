// What scripts ask many times a minute is one file: Node needs longer to find and link the thirty
// modules that it is made of.
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";

/** The quick way in, and the two commands that it leads to. */
const ENTRIES = ["cli/fast.js", "cli/commands/status.js", "cli/commands/slots-allowed.js"];
/** Told apart by identity, or by where they lie: there must be one of each. */
const SINGLE = ["core/errors.js", "core/program.js"];

/** Leaves what is imported while it runs where it is: that is the rare case, and most of the program. */
function keepImports(kept: Set<string>): Plugin {
  return {
    name: "keep-imports",
    resolveDynamicImport(specifier, importer) {
      if (typeof specifier !== "string" || importer === undefined) return null;
      if (!specifier.startsWith(".")) return null;
      const id = resolve(dirname(importer), specifier);
      kept.add(id);
      return { id, external: true };
    },
  };
}

async function bundleOne(dist: string, entry: string): Promise<void> {
  const kept = new Set<string>();
  const single = new Set(SINGLE.map((path) => join(dist, path)));
  const bundle = await rolldown({
    input: join(dist, entry),
    cwd: dist,
    platform: "node",
    external: (id) => single.has(id),
    plugins: [keepImports(kept)],
  });
  const { output } = await bundle.generate({ dir: join(dist, dirname(entry)), format: "esm" });
  const [chunk, ...more] = output;
  const both = chunk.moduleIds.filter((id) => kept.has(id));
  const missing = [...kept].filter((id) => !existsSync(id));
  if (more.length + both.length + missing.length > 0) {
    const why = [...more.map(({ fileName }) => fileName), ...both, ...missing].join(", ");
    throw new Error(`${entry} cannot be one file because of ${why}`);
  }
  writeFileSync(join(dist, entry), chunk.code);
  await bundle.close();
}

/** Makes each of the quick commands in `dist`, the compiled program, one file. */
export async function bundleQuickCommands(dist: string): Promise<void> {
  for (const entry of ENTRIES) await bundleOne(dist, entry);
}
