import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { command, isolatedEnv } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { fakeOpenAi } from "../../helpers/fake-openai.ts";
import { EMBEDDED_ENV, ensureEmbedded, madeModel } from "../../helpers/llama-server.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

function home(runners: string): { env: Record<string, string>; dir: string } {
  const dir = tempDir();
  mkdirSync(join(dir, "config", "touchstoned"), { recursive: true });
  writeFileSync(
    join(dir, "config", "touchstoned", "machine.yaml"),
    `schema_version: 1\n${runners}`,
  );
  return { env: isolatedEnv(dir), dir };
}

const OWN = (binary: string): string => `  - name: own
    kind: llama-server
    start: {binary: ${binary}, model_file: ${madeModel()}, context_length: 512, slots: 2}
`;

test("runner list shows what machine.yaml declares, and as JSON the kinds too", async () => {
  const { env } = home(`runners:\n  - name: desk\n    kind: ollama\n    url: http://127.0.0.1:1\n`);
  const text = await command(["runner", "list"], { env });
  expect(text).toMatchObject({ exit_code: 0, stdout: "desk  ollama  http://127.0.0.1:1\n" });
  expect(text.stderr).toContain("touchstoned runner install embedded");
  const json = await command(["runner", "list", "--json"], { env });
  const parsed = JSON.parse(json.stdout);
  expect(parsed).toMatchObject({
    runners: [{ name: "desk", kind: "ollama", model_file: null }],
    embedded: { installed_in: null },
  });
  expect(parsed.kinds).toHaveLength(4);
});

test("runner probe tells status, slots and models, by name and by URL", async () => {
  const server = await fakeLlamaServer({ slots: 2, slot_context: 512 });
  const { env } = home(
    `runners:\n  - name: desk\n    kind: llama-server\n    url: ${server.url}\n`,
  );
  const text = await command(["runner", "probe"], { env });
  expect(text.exit_code).toBe(0);
  expect(text.stdout).toMatch(/version {2}b1-fake\nslots {4}2\nmodel {4}fake.*512 tokens.*loaded/);
  const byUrl = ["runner", "probe", "--url", server.url, "--kind", "llama-server", "--json"];
  const json = await command(byUrl, { env });
  expect(JSON.parse(json.stdout)).toMatchObject({
    reachable: true,
    slots: 2,
    residency: "fixed",
    models: [{ id: "fake" }],
  });
});

test("runner probe ends 69 where nobody is there and 75 while the model loads", async () => {
  const server = await fakeLlamaServer({ loading: true });
  const { env } = home("");
  const probe = (url: string) =>
    command(["runner", "probe", "--url", url, "--kind", "llama-server"], { env });
  const loading = await probe(server.url);
  expect(loading).toMatchObject({ exit_code: 75, stdout: "" });
  expect(loading.stderr).toContain("still loading");
  await server.close();
  const away = await probe(server.url);
  expect(away).toMatchObject({ exit_code: 69, stdout: "" });
  expect(away.stderr).toContain("connection refused");
});

test("a runner of our own is said to be startable, or why not", async () => {
  const well = await command(["runner", "probe", "own"], {
    env: home(`runners:\n${OWN("/bin/sh")}`).env,
  });
  expect(well).toMatchObject({ exit_code: 0 });
  expect(well.stdout).toContain("started when it is needed");
  const { env } = home(`runners:\n${OWN("/nowhere/llama-server")}`);
  const ill = await command(["runner", "probe", "own", "--json"], { env });
  expect(ill.exit_code).toBe(69);
  expect(JSON.parse(ill.stdout)).toMatchObject({
    startable: false,
    reason: "there is no program /nowhere/llama-server",
  });
});

test("wrong questions are usage errors that say what is right", async () => {
  const server = await fakeOpenAi();
  const { env } = home("");
  const cases: [string[], RegExp][] = [
    [["runner", "probe", "--url", server.url], /--url needs --kind: llama-server, ollama/],
    [["runner", "probe", "x", "--url", server.url, "--kind", "openai"], /not both/],
    [["runner", "probe", "--url", server.url, "--kind", "openai", "--limit", "no"], /--limit/],
    [["runner", "install", "ollama"], /cannot be installed/],
  ];
  for (const [args, message] of cases) {
    const run = await command(args, { env });
    expect(run).toMatchObject({ exit_code: 2, stdout: "" });
    expect(run.stderr).toMatch(message);
  }
});

test("runner install embedded is done once and says where", async () => {
  const dir = await ensureEmbedded();
  const env = { HOME: EMBEDDED_ENV["HOME"], XDG_STATE_HOME: EMBEDDED_ENV["XDG_STATE_HOME"] };
  const run = await command(["runner", "install", "embedded", "--json"], { env });
  expect(run.exit_code).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({ dir, installed: false });
  expect(run.stderr).toContain("already");
});
