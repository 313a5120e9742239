import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { command } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { measure } from "../../helpers/measured.ts";
import { slotsStation } from "../../helpers/measured-station.ts";

/** Writes down everything that is imported. */
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

describe("what scripts ask many times a minute", () => {
  it.each([[["slots", "allowed"]], [["slots", "allowed", "--json"]]])(
    "%j loads no library at all, nor what is heavy in Node",
    async (words) => {
      const server = await fakeLlamaServer({ slots: 4 });
      const station = slotsStation({ kind: "llama-server", url: server.url });
      const model = { id: "unknown", digest: null };
      const identity = { kind: "llama-server", version: "b1-fake", model, context_per_slot: 1024 };
      await measure(station.state_dir, identity);
      const setting = { cwd: station.root, env: station.env };
      await command(words, setting); // the slow one, which leaves a snapshot
      const recorder = join(station.home, "recorder.mjs");
      const imports = join(station.home, "imports");
      writeFileSync(recorder, RECORDER);
      writeFileSync(imports, "");
      const env = {
        ...station.env,
        IMPORTS: imports,
        NODE_OPTIONS: `--import=${pathToFileURL(recorder).href}`,
      };
      const ended = await command(words, { cwd: station.root, env });
      expect(ended.exit_code).toBe(0);
      expect(ended.stdout).toContain("2");
      const urls = readFileSync(imports, "utf8").trim().split("\n");
      expect(urls.some((url) => url.endsWith("/src/cli/commands/slots-allowed.ts"))).toBe(true);
      expect(urls.filter((url) => url.includes("node_modules"))).toEqual([]);
      const heavy = /^node:(?:http|https|http2|crypto|child_process|sqlite|stream|util)$/;
      expect(urls.filter((url) => heavy.test(url))).toEqual([]);
    },
  );
});
