import { expect, test } from "vitest";
import type { ToolResult } from "../../../src/core/tool.ts";
import { ServicePulse, takeServiceManager } from "../../../src/daemon/pulse.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";

const SENT: ToolResult = { exit_code: 0, signal: null, stderr: "", error: null };

/** A pulse whose messages are kept; `results` are the answers of the sender, then all is well. */
function pulseWith(watchdog_ms: number | null, results: ToolResult[] = []) {
  const clock = new FakeClock();
  const sent: string[][] = [];
  const warnings: string[] = [];
  const told = { line: "idle" };
  const pulse = new ServicePulse({
    watchdog_ms,
    clock,
    async send(pairs) {
      sent.push([...pairs]);
      return results.shift() ?? SENT;
    },
    line: () => told.line,
    warn: (text) => warnings.push(text),
  });
  const after = async (ms: number, what: "alive" | "round" | "stopping"): Promise<void> => {
    clock.advance(ms);
    pulse[what]();
    await pulse.settled();
  };
  return { pulse, sent, warnings, told, after, clock };
}

test("nobody who listens, a watchdog for another process, and one for us", () => {
  expect(takeServiceManager({ WATCHDOG_USEC: "1000000" }, 7)).toBeNull();
  const env: Record<string, string | undefined> = {
    NOTIFY_SOCKET: "/run/notify",
    WATCHDOG_USEC: "120000000",
    WATCHDOG_PID: "7",
    PATH: "/bin",
  };
  const variables = { NOTIFY_SOCKET: "/run/notify", WATCHDOG_USEC: "120000000", WATCHDOG_PID: "7" };
  expect(takeServiceManager({ ...env }, 8)).toMatchObject({ watchdog_ms: null });
  expect(takeServiceManager(env, 7)).toEqual({
    socket: "/run/notify",
    watchdog_ms: 120_000,
    variables,
  });
  // No child speaks for the daemon.
  expect(env).toEqual({ PATH: "/bin" });
});

test("it is ready with its first round, and not before", async () => {
  const { sent, after } = pulseWith(120_000);
  await after(0, "alive");
  expect(sent).toEqual([]);
  await after(5, "round");
  expect(sent).toEqual([["READY=1", "STATUS=idle", "WATCHDOG=1"]]);
});

test("signs of life come with what was done, at half the patience and not for each trifle", async () => {
  const { pulse, sent, after } = pulseWith(120_000);
  expect(pulse.longest_ms).toBe(60_000);
  await after(0, "round");
  for (let n = 0; n < 29; n += 1) await after(1000, "alive");
  expect(sent).toHaveLength(1);
  await after(1000, "alive");
  await after(60_000, "round");
  expect(sent.slice(1)).toEqual([
    ["WATCHDOG=1", "STATUS=idle"],
    ["WATCHDOG=1", "STATUS=idle"],
  ]);
});

test("without a watchdog only what changes is told; a line is one line", async () => {
  const { pulse, sent, told, after } = pulseWith(null);
  expect(pulse.longest_ms).toBe(Infinity);
  await after(0, "round");
  await after(3_600_000, "round");
  told.line = "tiny (job 1),\n eval";
  await after(1000, "round");
  await after(10, "round");
  expect(sent).toEqual([["READY=1", "STATUS=idle"], ["STATUS=tiny (job 1), eval"]]);
});

test("what comes while something is on its way follows it", async () => {
  const { pulse, sent } = pulseWith(120_000);
  pulse.round();
  pulse.stopping();
  expect(sent).toHaveLength(1);
  await pulse.settled();
  expect(sent[1]).toEqual(["STOPPING=1", "STATUS=idle", "WATCHDOG=1"]);
});

test("a missing systemd-notify is said once, with what to do, and not tried again", async () => {
  const missing = { ...SENT, exit_code: null, error: "spawn systemd-notify ENOENT" };
  const { sent, warnings, after } = pulseWith(120_000, [missing]);
  await after(0, "round");
  await after(60_000, "round");
  expect(sent).toHaveLength(1);
  expect(warnings).toEqual([expect.stringContaining("Type=exec")]);
});

test("trouble is said once as long as it lasts; readiness that was lost is told again", async () => {
  const trouble = { ...SENT, exit_code: 1, stderr: "Failed to notify\n" };
  const { sent, warnings, after } = pulseWith(120_000, [trouble, trouble, SENT, trouble]);
  await after(0, "round");
  await after(1, "round");
  await after(1, "round");
  expect(sent.map(([first]) => first)).toEqual(["READY=1", "READY=1", "READY=1"]);
  await after(60_000, "alive");
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toContain("systemd-notify: Failed to notify");
});
