import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { prettyJson } from "../../../src/core/json.ts";
import { describeModel, writeMadeModel } from "../../../src/models/index.ts";
import { waitFor } from "../../helpers/wait.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

const SMALL = { dim: 64, layers: 1, heads: 4, ff: 64, vocabulary_size: 400 };

/** A station with models/fake.json, and the model that it describes beside it. */
async function stationWithModel(machine: Record<string, unknown>) {
  const station = await DaemonStation.make({ machine });
  const models = join(station.night.root, "models");
  mkdirSync(models);
  const source = join(models, "fake.gguf");
  writeMadeModel(source, SMALL);
  const { model } = await describeModel(source, { source_path: "fake.gguf" });
  writeFileSync(join(models, "fake.json"), prettyJson(model));
  return { station, source };
}

const ENTRY = { model: { file: "models/fake.json" } };

describe("a queue file that names a model disk file", () => {
  test(
    "runs where the model fits, and waits, in words, where it never will",
    async () => {
      const { station } = await stationWithModel({ model_memory_mb: 1 });
      station.drop("big.json", [ENTRY]);
      const small = await station.daemon();
      await waitFor(
        "a reason",
        async () => (await station.status()).why_idle?.includes("more memory") === true,
        LIMIT_MS,
      );
      expect(await station.status()).toMatchObject({
        why_idle:
          "1 job whose model needs more memory than this machine has (touchstoned queue list)",
        blocked: { too_big: 1, ready: 0 },
      });
      const { stdout } = await station.night.run("queue", "list");
      expect(stdout).toMatch(/never here: needs \d+ MB of memory, this machine has 1 MB/);
      const [job] = await station.jobs();
      const shown = await station.night.run("queue", "show", job?.id ?? "");
      expect(shown.stdout).toMatch(/memory +\d+ MB/);
      expect(shown.stdout).toMatch(/PENDING never here/);
      await station.stop(small);
      // The same store on a machine with more: nobody has to do anything.
      const machine = join(station.night.home, "config", "touchstoned", "machine.yaml");
      const settings = JSON.parse(readFileSync(machine, "utf8")) as Record<string, unknown>;
      station.night.writeMachine({ ...settings, model_memory_mb: 24_000 });
      const large = await station.daemon();
      await station.waitPlaced("done");
      expect(await station.jobs()).toMatchObject([{ state: "COMPLETE" }]);
      await station.stop(large);
    },
    TEST_MS,
  );

  test(
    "is rejected by the daemon where the model was changed, and warned of in the foreground",
    async () => {
      const { station, source } = await stationWithModel({});
      utimesSync(source, 1000, 1000);
      station.drop("night.json", [ENTRY]);
      const daemon = await station.daemon();
      const rejected = await station.waitPlaced("rejected", 2);
      const reason = rejected.find((name) => name.endsWith(".reason.json"));
      expect(reason).toBeDefined();
      const text = readFileSync(join(station.inbox, "rejected", reason ?? ""), "utf8");
      expect(text).toContain("not the model that was described");
      expect(text).toContain("touchstoned model describe");
      await station.stop(daemon);
      station.night.write(
        "night.json",
        JSON.stringify({ entries: [{ pack: "pack.json", ...ENTRY }] }),
      );
      const strict = await station.night.run("queue", "run", "night.json", "--strict-cache");
      expect(strict).toMatchObject({ exit_code: 64 });
      const lenient = await station.night.run("queue", "run", "night.json");
      expect(lenient.stderr).toMatch(/models\/fake\.json: its file .* was changed at 1970/);
      expect(lenient.exit_code).toBe(0);
    },
    TEST_MS,
  );
});
