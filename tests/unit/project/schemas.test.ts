import { Ajv } from "ajv";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { schemaFiles } from "../../../scripts/schemas.ts";
import { parseText } from "../../../src/core/yaml.ts";
import { PROJECT_ROOT, projectFiles, projectText } from "../../helpers/project-files.ts";

const files = [...schemaFiles()];
const HEADER = /^# yaml-language-server: \$schema=(\S+)$/m;

describe("editor schemas", () => {
  it.each(files)("%s is what `npm run schemas` writes", (path, text) => {
    expect(projectText(path), "stale: run npm run schemas").toBe(text);
  });

  it.each(files)("%s describes what its keys are for", (_path, text) => {
    expect(JSON.parse(text)).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      additionalProperties: false,
    });
    expect(text).toContain('"description"');
  });

  const examples = ["inbox/examples", "packs", "examples"].flatMap((folder) =>
    projectFiles(folder, ".yaml"),
  );

  it("has examples to go with it", () => {
    expect(examples.length).toBeGreaterThan(2);
  });

  it.each([...examples, "touchstoned.yaml"])("%s names its schema and obeys it", (path) => {
    const text = projectText(path);
    const schema = join(PROJECT_ROOT, dirname(path), HEADER.exec(text)?.[1] ?? "no header");
    expect(existsSync(schema), `schema of ${path}`).toBe(true);
    const check = new Ajv({ strict: false, formats: { "date-time": true } }).compile(
      JSON.parse(readFileSync(schema, "utf8")),
    );
    check(parseText(text, path).value);
    expect(check.errors).toBeNull();
  });
});
