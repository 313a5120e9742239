import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { readJsonLines } from "../../../src/core/files.ts";
import { ulidSource } from "../../../src/core/ids.ts";
import { isAlive, processIdentity } from "../../../src/core/process-table.ts";
import { startSampler, type ResourceTick, type SamplerProcess } from "../../../src/probes/index.ts";
import { command, startCommand } from "../../helpers/command.ts";
import { standIn } from "../../helpers/probe-samples.ts";
import { tempDir } from "../../helpers/temp-dir.ts";
import { waitFor } from "../../helpers/wait.ts";

const clock = systemClock;
const new_id = ulidSource(clock);
/** Some facts are looked up in /proc, and only Linux has a /dev/full. */
const linux = process.platform === "linux";

function start(path: string, more: Partial<Parameters<typeof startSampler>[0]> = {}) {
  return startSampler({ path, server_pid: process.pid, clock, new_id, ...more });
}

async function started(path: string): Promise<SamplerProcess> {
  const sampler = await start(path);
  onTestFinished(async () => void (await sampler.stop()));
  return sampler;
}

function ticksIn(path: string): ResourceTick[] {
  return readJsonLines(path) as ResourceTick[];
}

function identityOf(pid: number) {
  const identity = processIdentity(pid);
  if (identity === undefined) throw new Error(`no process ${pid}`);
  return identity;
}

const group = (pid: number | "self") =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[2];

describe("startSampler", () => {
  it("resolves with the least baseline line, which is in the file by then", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const sampler = await started(path);
    const baseline = ticksIn(path).filter((tick) => tick.baseline);
    expect(baseline).toHaveLength(3);
    const least = Math.min(...baseline.map((tick) => tick.sys_used_mb ?? Number.NaN));
    expect(sampler.baseline.sys_used_mb).toBe(least);
    expect(sampler.baseline).toMatchObject({ phase: "start", invocation: sampler.invocation });
    expect(sampler.baseline.server_rss_mb).toBeGreaterThan(10);
    await waitFor("a tick", () => ticksIn(path).some((tick) => !tick.baseline));
    expect(await sampler.stop()).toEqual({ ok: true, reason: null });
    expect(await sampler.stop()).toEqual({ ok: true, reason: null });
  });

  it("appends under a new invocation and keeps what is there", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const first = await started(path);
    await first.stop();
    const before = readFileSync(path, "utf8");
    const second = await started(path);
    await second.stop();
    expect(readFileSync(path, "utf8").startsWith(before)).toBe(true);
    const invocations = new Set(ticksIn(path).map((tick) => tick.invocation));
    expect(invocations).toEqual(new Set([first.invocation, second.invocation]));
  });

  it("takes the steady baseline when it is asked to", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const sampler = await started(path);
    const steady = await sampler.markSteady();
    expect(steady).toMatchObject({ baseline: true, phase: "steady" });
    expect(ticksIn(path).filter((tick) => tick.phase === "steady")).toHaveLength(3);
    expect((await sampler.stop()).ok).toBe(true);
  });

  it.runIf(linux)("starts nothing while it samples", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const sampler = await startSampler({
      path,
      server_pid: process.pid,
      clock,
      new_id,
      env: { PATH: "/nonexistent" },
    });
    onTestFinished(async () => void (await sampler.stop()));
    const count = ticksIn(path).length;
    await waitFor("more ticks", () => {
      const children = readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .filter((name) => parentIs(name, sampler.pid));
      expect(children).toEqual([]);
      return ticksIn(path).length >= count + 4;
    });
  });

  it.runIf(linux)(
    "belongs to our process group, so that whoever ends our tree ends it too",
    async () => {
      const sampler = await started(join(tempDir(), "resources.jsonl"));
      expect(group(sampler.pid)).toBe(group("self"));
    },
  );

  it("says that it was killed", async () => {
    const sampler = await started(join(tempDir(), "resources.jsonl"));
    process.kill(sampler.pid, "SIGKILL");
    await waitFor("its end", () => sampler.fault !== null);
    expect(sampler.fault).toContain("SIGKILL");
    await expect(sampler.markSteady()).rejects.toMatchObject({ code: "sampler" });
    expect(await sampler.stop()).toEqual({
      ok: false,
      reason: "the sampler ended (signal SIGKILL) early",
    });
  });

  it("rejects where the file cannot be made, with the system's words", async () => {
    const path = join(tempDir(), "no/such/folder/resources.jsonl");
    await expect(start(path)).rejects.toMatchObject({
      code: "sampler",
      message: expect.stringContaining("ENOENT"),
    });
  });

  it.runIf(linux)("rejects where the disk is full, naming that", async () => {
    await expect(start("/dev/full", { ready_limit_s: 6 })).rejects.toMatchObject({
      code: "sampler",
      message: expect.stringContaining("wrote no baseline within 6 s: /dev/full: ENOSPC"),
    });
  });
});

function parentIs(pid: string, parent: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.split(") ").at(-1)?.split(" ")[1] === String(parent);
  } catch {
    return false;
  }
}

const args = (path: string) => ["_sampler", "--out", path, "--invocation", "I"];

describe("_sampler", () => {
  it("ends within a second of the end of its input, and of SIGTERM", async () => {
    for (const end of ["input", "SIGTERM"] as const) {
      const path = join(tempDir(), "resources.jsonl");
      const running = startCommand(args(path));
      await waitFor("ready", () => running.output().stdout.includes('"ready":true'));
      const asked = performance.now();
      if (end === "input") running.child.stdin.end();
      else running.child.kill("SIGTERM");
      const run = await running.finished;
      expect(run.exit_code).toBe(0);
      expect(performance.now() - asked).toBeLessThan(1000);
      expect(run.stdout.trim().split("\n").at(-1)).toContain('"ended":true');
    }
  });

  it("goes on at Ctrl-C: who measures decides when it ends", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const running = startCommand(args(path));
    await waitFor("ready", () => running.output().stdout.includes('"ready":true'));
    running.child.kill("SIGINT");
    await waitFor("the signal", () => running.output().stderr.includes("SIGINT"));
    const count = ticksIn(path).length;
    await waitFor("more ticks", () => ticksIn(path).length > count);
    running.child.stdin.end();
    expect((await running.finished).exit_code).toBe(0);
  });

  it("refuses a process id that is none", async () => {
    const path = join(tempDir(), "resources.jsonl");
    const run = await command([...args(path), "--server-pid", "x"]);
    expect(run).toMatchObject({ exit_code: 2, stdout: "" });
    expect(run.stderr).toContain("--server-pid x");
  });

  it("dies with its parent, also when that is killed", async () => {
    const folder = tempDir();
    const path = join(folder, "resources.jsonl");
    const probes = fileURLToPath(new URL("../../../src/probes/index.ts", import.meta.url));
    const core = fileURLToPath(new URL("../../../src/core/", import.meta.url));
    const script = join(folder, "parent.ts");
    writeFileSync(
      script,
      `import { startSampler } from ${JSON.stringify(probes)};
       import { systemClock as clock } from ${JSON.stringify(`${core}clock.ts`)};
       import { ulidSource } from ${JSON.stringify(`${core}ids.ts`)};
       const options = { path: ${JSON.stringify(path)}, server_pid: null };
       const s = await startSampler({ ...options, clock, new_id: ulidSource(clock) });
       console.log(s.pid);
       await clock.sleep(600000);`,
    );
    const parent = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
    const pid = await new Promise<number>((resolve) => {
      parent.stdout.setEncoding("utf8").once("data", (text: string) => resolve(Number(text)));
    });
    const sampler = identityOf(pid);
    expect(isAlive(sampler)).toBe(true);
    parent.kill("SIGKILL");
    await waitFor("the sampler's end", () => !isAlive(sampler), 5000);
  });

  it("takes its helpers along when it is killed itself", async () => {
    const folder = tempDir();
    standIn(
      join(folder, "bin"),
      "nvidia-smi",
      `echo $$ > "${folder}/pid"; while echo "1, 0, NVIDIA T4, 214, 16384, 0x0, [N/A]"; do sleep 0.2; done`,
    );
    const path = join(folder, "resources.jsonl");
    const env = { PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}` };
    const sampler = await start(path, { env });
    const helper = identityOf(Number(readFileSync(join(folder, "pid"), "utf8")));
    expect(sampler.baseline.gpu_used_mb).toBeCloseTo(224.395, 2);
    process.kill(sampler.pid, "SIGKILL");
    await waitFor("the helper's end", () => !isAlive(helper), 5000);
    expect((await sampler.stop()).ok).toBe(false);
  });
});
