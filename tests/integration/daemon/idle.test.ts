import { expect, test, vi } from "vitest";
import { realKind, startRealServer } from "../../helpers/llama-server.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { IdleStation } from "./idle-setting.ts";
import { TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

const REAL = onlyIf(realKind() === "llama-server");

test.each(REAL)(
  "what is asked for is measured in an idle hour, committed, and answered from",
  async () => {
    // No machine has so little memory: two slots break a bound when they are loaded, and it is one.
    const slots = "{max_slots: 2, bounds: {memory_ceiling: 0.00001}}";
    const station = await IdleStation.make({ slots });
    const { daemons } = station;
    const daemon = await daemons.daemon();
    station.putCorpus();
    await station.request();
    await station.waitFor("the evidence", () => station.evidence().length > 0);
    await station.waitFor("the request to be closed", () => station.requests().length === 0);
    await station.waitFor("the commit", () =>
      station.git("log", "--format=%s").includes("Slots on "),
    );
    const { stderr } = daemon.output();
    expect(stderr).toMatch(/measuring slots of tiny with llama begins: asked for by a person/);
    await station.waitFor("the daemon's word", () =>
      /slots of tiny: 1 at once is best/.test(daemon.output().stderr),
    );
    expect(await daemons.violations()).toEqual([]);
    const production = await startRealServer(tempDir(), { slots: 2, context_length: 512 });
    try {
      station.writeMachine(production.url);
      const allowed = await daemons.night.run("slots", "allowed");
      expect(allowed).toMatchObject({ exit_code: 0, stdout: "1\n" });
      expect(allowed.stderr).toContain("1 measured less than an hour ago (evidence ");
      expect(station.requests()).toEqual([]);
    } finally {
      await production.stop();
    }
    expect((await daemons.status()).why_idle).toBe("idle, the queue is empty");
    await daemons.stop(daemon);
  },
);
