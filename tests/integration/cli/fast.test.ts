import { describe, expect, it } from "vitest";
import { command } from "../../helpers/command.ts";
import { fakeLlamaServer } from "../../helpers/fake-llama-server.ts";
import { recordImports } from "../../helpers/import-recorder.ts";
import { measure } from "../../helpers/measured.ts";
import { slotsStation } from "../../helpers/measured-station.ts";

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
      const recorded = recordImports(station.home);
      const env = { ...station.env, ...recorded.variables };
      const ended = await command(words, { cwd: station.root, env });
      expect(ended.exit_code).toBe(0);
      expect(ended.stdout).toContain("2");
      const urls = recorded.urls();
      expect(urls.some((url) => url.endsWith("/src/cli/commands/slots-allowed.ts"))).toBe(true);
      expect(urls.filter((url) => url.includes("node_modules"))).toEqual([]);
      const heavy = /^node:(?:http|https|http2|crypto|child_process|sqlite|stream|util)$/;
      expect(urls.filter((url) => heavy.test(url))).toEqual([]);
    },
  );
});
