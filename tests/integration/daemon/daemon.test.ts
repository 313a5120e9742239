import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { waitFor as waitUntil } from "../../helpers/wait.ts";
import { readSummary } from "../steps/setting.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
) {
  return waitUntil(what, look, LIMIT_MS);
}

test("a dropped file is taken up, run, and put into done/", async () => {
  const station = await DaemonStation.make();
  const daemon = await station.daemon();
  station.drop("night.json", [
    { id: "a" },
    { id: "b", after: ["a"], model: { id: "fake", quant: "q" } },
  ]);
  const [name = ""] = await station.waitPlaced("done");
  expect(name).toMatch(/Z-[0-9A-Z]{26}-night\.json$/);
  expect((await station.jobs()).map(({ state }) => state)).toEqual(["COMPLETE", "COMPLETE"]);
  const [directory = ""] = station.night.submissions();
  const summary = readSummary(directory);
  expect(summary).toMatchObject({ state: "done", ok: 2, total: 2 });
  expect(summary.entries.map(({ job }) => job?.state)).toEqual(["COMPLETE", "COMPLETE"]);
  expect(readFileSync(join(station.inbox, "done", name), "utf8")).toContain("pack.json");
  expect(await station.violations()).toEqual([]);
  const status = await station.status();
  expect(status.why_idle).toBe("idle, the queue is empty");
  expect(status.daemon.running).toBe(true);
  await station.stop(daemon);
  expect((await daemon.finished).exit_code).toBe(0);
  expect((await station.status()).why_idle).toContain("daemon is not running");
});

test("a second daemon is refused and told who runs; an untrusted station has none", async () => {
  const station = await DaemonStation.make();
  const daemon = await station.daemon();
  const second = await station.night.run("daemon");
  expect(second.exit_code).toBe(75);
  expect(second.stderr).toContain(`pid ${daemon.child.pid}`);
  const rebuild = await station.night.run("queue", "rebuild");
  expect(rebuild.exit_code).toBe(75);
  await station.stop(daemon);
  station.night.writeMachine({ trusted_stations: [] });
  const untrusted = await station.night.run("daemon");
  expect(untrusted.exit_code).toBe(78);
  expect(untrusted.stderr).toContain("not trusted");
});

test("hold, release, cancel, retry, drain: each is seen by a daemon that runs", async () => {
  let broken = true;
  const station = await DaemonStation.make({
    chat: () => (broken ? { status: 500, body: { error: "no" } } : undefined),
  });
  const daemon = await station.daemon();
  const held = await station.night.run("queue", "hold");
  expect(held.stdout).toContain("the queue is held");
  station.drop("two.json", [{}, { model: { id: "fake", quant: "b" } }]);
  await waitFor("the jobs", async () => (await station.jobs()).length === 2);
  expect((await station.status()).why_idle).toContain("the queue is held since");
  const [first, second] = await station.jobs();
  const cancelled = await station.night.run("queue", "cancel", second?.id.slice(-6) ?? "");
  expect(cancelled.exit_code).toBe(0);
  await station.night.run("queue", "release");
  await waitFor("a failure", async () =>
    (await station.jobs()).some(({ id, state }) => id === first?.id && state === "FAILED"),
  );
  const status = await station.status();
  expect(status.why_idle).toContain("1 job not due until");
  broken = false;
  const retried = await station.json<{ job: { attempt_count: number } }>(
    "queue",
    "retry",
    first?.id ?? "",
  );
  expect(retried.job.attempt_count).toBe(0);
  await station.waitPlaced("failed");
  expect((await station.jobs()).map(({ state }) => state).sort()).toEqual([
    "CANCELLED",
    "COMPLETE",
  ]);
  const drained = await station.json<{ drained: boolean }>("queue", "drain");
  expect(drained.drained).toBe(true);
  const shown = await station.json<{ history: { kind: string }[] }>(
    "queue",
    "show",
    first?.id ?? "",
  );
  expect(shown.history.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(["claim", "start", "fail", "retry", "complete"]),
  );
  const unknown = await station.night.run("queue", "cancel", "ZZZZ");
  expect([unknown.exit_code, unknown.stderr]).toEqual([64, expect.stringContaining("no job")]);
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
});

test("a cancelled job that runs is ended, and the next one runs", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const daemon = await station.daemon();
  station.drop("two.json", [{}, { model: { id: "fake", quant: "b" } }]);
  await waitFor("a request", () => station.gate.asked > 0);
  const [first] = await station.jobs();
  await station.night.run("queue", "cancel", first?.id ?? "");
  await waitFor("the second job", async () =>
    (await station.jobs()).some(({ id, state }) => id !== first?.id && state === "IN_PROGRESS"),
  );
  station.gate.open();
  await station.waitPlaced("failed");
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
});

test("an unreadable store is set aside and rebuilt from the files", async () => {
  const station = await DaemonStation.make();
  const first = await station.daemon();
  station.drop("done.json");
  await station.waitPlaced("done");
  await station.night.run("queue", "hold");
  station.drop("open.json", [{ priority: 7 }]);
  await waitFor("the job", async () => (await station.jobs()).length === 2);
  await station.stop(first);
  writeFileSync(join(station.state_dir, "queue.db"), "this is no database".repeat(400));
  expect((await station.night.run("queue", "list")).exit_code).toBe(69);
  const daemon = await station.daemon();
  expect(daemon.output().stderr).toMatch(/was unreadable: moved to .*queue.db.unreadable-/);
  // The store that knew of the hold is gone; the hold is not.
  expect((await station.status()).why_idle).toContain("the queue is held");
  await station.night.run("queue", "release");
  await station.waitPlaced("done", 2);
  expect((await station.jobs()).map(({ state }) => state)).toEqual(["COMPLETE", "COMPLETE"]);
  expect(readdirSync(station.state_dir).some((name) => name.includes("unreadable"))).toBe(true);
  expect(await station.violations()).toEqual([]);
  await station.stop(daemon);
  const rebuilt = await station.json<{ complete: number; pending: number }>("queue", "rebuild");
  expect(rebuilt).toMatchObject({ complete: 2, pending: 0, left_out: [] });
  expect(await station.violations()).toEqual([]);
});

test("submit drops a whole file and says when it is taken up", async () => {
  const station = await DaemonStation.make();
  const file = station.night.write("night.json", {
    entries: [{ model: "fake", pack: "pack.json" }],
  });
  const alone = await station.json<{ path: string; taken_up: string | null }[]>(
    "queue",
    "submit",
    file,
  );
  expect(alone).toMatchObject([{ taken_up: null }]);
  const again = await station.night.run("queue", "submit", file);
  expect([again.exit_code, again.stderr]).toEqual([64, expect.stringContaining("there already")]);
  expect((await station.status()).inbox).toEqual([{ name: "night.json", ripe: null, stuck: null }]);
  const daemon = await station.daemon();
  await station.waitPlaced("done");
  const [second] = await station.json<{ taken_up: string }[]>("queue", "submit", file);
  expect(Date.parse(second?.taken_up ?? "")).toBeGreaterThan(0);
  // The same bytes after the first have ended: new work.
  await station.waitPlaced("done", 2);
  await station.stop(daemon);
});
