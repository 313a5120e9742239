// `npm run schemas`: writes schemas/*.schema.json, by which an editor completes and checks the files
// that people write, from the very schemas that the program checks them with.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { evalConfigSchema } from "../src/eval/config.ts";
import { judgeConfigSchema } from "../src/eval/judge-config.ts";
import { packSchema } from "../src/eval/pack.ts";
import { evidenceSchema } from "../src/evidence/index.ts";
import { queueFileSchema } from "../src/queue/index.ts";
import { machineSchema, policySchema } from "../src/station/index.ts";

/** File name (less `.schema.json`) and what the file that it describes is for. */
const SCHEMAS: Record<string, { schema: z.ZodType; title: string }> = {
  "queue-file": { schema: queueFileSchema, title: "touchstoned queue file" },
  policy: { schema: policySchema, title: "touchstoned.yaml" },
  machine: { schema: machineSchema, title: "touchstoned machine.yaml" },
  pack: { schema: packSchema, title: "touchstoned pack" },
  "eval-config": { schema: evalConfigSchema, title: "touchstoned eval config" },
  "slot-evidence": { schema: evidenceSchema, title: "touchstoned evidence of slots" },
  "judge-config": { schema: judgeConfigSchema, title: "touchstoned judge config" },
};

/** Text of each schema file by its path from the project's root. */
export function schemaFiles(): Map<string, string> {
  return new Map(
    Object.entries(SCHEMAS).map(([name, { schema, title }]) => {
      // Draft 7 is what the YAML language server, and with it most editors, knows best.
      const { $schema, ...body } = z.toJSONSchema(schema, {
        io: "input",
        target: "draft-7",
        unrepresentable: "any",
      });
      const document = { $schema, title, ...body };
      return [`schemas/${name}.schema.json`, `${JSON.stringify(document, null, 2)}\n`];
    }),
  );
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  mkdirSync(join(root, "schemas"), { recursive: true });
  for (const [path, text] of schemaFiles()) {
    writeFileSync(join(root, path), text);
    process.stderr.write(`${path}\n`);
  }
}
