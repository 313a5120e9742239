import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import type { StartedRunner } from "../../../src/runners/index.ts";
import { askRunner } from "../../../src/runners/light.ts";
import { command } from "../../helpers/command.ts";
import { madeModel, realKind, startRealServer } from "../../helpers/llama-server.ts";
import { measure, type ServerIdentity } from "../../helpers/measured.ts";
import { digestOf, slotsStation } from "../../helpers/measured-station.ts";
import { onlyIf } from "../../helpers/only-if.ts";
import { tempDir } from "../../helpers/temp-dir.ts";

/** A real server of two or more slots, as production would be. */
async function production(slots: number, args: string[] = []): Promise<StartedRunner> {
  const started = await startRealServer(tempDir(), { slots, context_length: 512, args });
  onTestFinished(() => started.stop());
  return started;
}

async function identityOf(url: string): Promise<ServerIdentity> {
  const kind = realKind();
  const answer = await askRunner({ kind, url, model: null, declared_slots: null, limit_ms: 5000 });
  if (!answer.ok) throw new Error(answer.reason);
  const { version, model, context_per_slot, serving } = answer.runner;
  const digest = digestOf(readFileSync(madeModel()));
  return {
    kind,
    version,
    model: { id: model.id, digest },
    context_per_slot: context_per_slot ?? 0,
    ...(serving?.ok === true ? { serving: serving.options } : {}),
  };
}

describe("slots allowed beside a real server", () => {
  it("is what was measured where the server has more, and what the server has where it has less", async () => {
    const wide = await production(4);
    const identity = await identityOf(wide.url);
    const station = slotsStation({ kind: realKind(), url: wide.url });
    await measure(station.state_dir, identity);
    const setting = { cwd: station.root, env: station.env };
    const two = await command(["slots", "allowed"], setting);
    expect(two).toMatchObject({ exit_code: 0, stdout: "2\n" });
    expect(two.stderr).toContain("the runner has 4 slots (it says so)");
    expect(two.stderr).toContain("not committed yet");
    // From the snapshot, the same.
    const again = await command(["slots", "allowed", "--json"], setting);
    expect(JSON.parse(again.stdout)).toMatchObject({
      allowed: 2,
      runner: "local",
      live: { slots: 4, slots_source: "runner", context_per_slot: 512, held_s: null },
      evidence: { recommended: 2, faults: [] },
    });
    const narrow = await production(1);
    const other = slotsStation({ kind: realKind(), url: narrow.url });
    await measure(other.state_dir, identity);
    const one = await command(["slots", "allowed"], { cwd: other.root, env: other.env });
    expect(one).toMatchObject({ exit_code: 0, stdout: "1\n" });
    expect(one.stderr).toContain("the runner has 1 slot (it says so)");
    expect(one.stderr).toContain("give the runner 2 slots");
  });

  it.each(onlyIf(realKind() === "llama-server" && process.platform === "linux"))(
    "is 1 where the server in production was started with other settings, whatever machine.yaml says",
    async () => {
      const args = ["-fa", "off"];
      const alike = await production(2, args);
      const identity = await identityOf(alike.url);
      expect(identity.serving).toMatchObject({ flash_attention: "off", kv_type: null });
      // As machine.yaml would start one it would all be the same.
      const calibration = { model_file: madeModel(), args: ["-t", "1", ...args] };
      const station = (url: string) => slotsStation({ kind: "llama-server", url, calibration });
      const ask = async (url: string) => {
        const { root, env, state_dir } = station(url);
        await measure(state_dir, identity);
        return command(["slots", "allowed"], { cwd: root, env });
      };
      expect(await ask(alike.url)).toMatchObject({ exit_code: 0, stdout: "2\n" });
      const other = await production(2, ["-fa", "on", "-b", "256"]);
      const one = await ask(other.url);
      expect(one).toMatchObject({ exit_code: 0, stdout: "1\n" });
      expect(one.stderr).toContain("flash attention was off and is on");
      expect(one.stderr).toContain("the batch size was --threads 1 and is --batch-size 256");
    },
  );
});
