import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { fakeOpenAi, goodChat } from "../../helpers/fake-openai.ts";
import { waitFor as waitUntil } from "../../helpers/wait.ts";
import { DaemonStation, LIMIT_MS, TEST_MS } from "./setting.ts";

vi.setConfig({ testTimeout: TEST_MS });

function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
) {
  return waitUntil(what, look, LIMIT_MS);
}

test("runs on a disk that is away: jobs wait, status says why, and nothing is lost", async () => {
  const station = await DaemonStation.make();
  const { night } = station;
  const ext = join(night.home, "ext");
  mkdirSync(ext);
  const server = await fakeOpenAi({ chat: () => goodChat("fake") });
  const runners = [{ name: "local", kind: "openai", url: server.url }];
  night.writeMachine({ runners, runs_dir: ext });
  const first = await station.daemon();
  await night.run("queue", "hold");
  station.drop("night.json");
  await waitFor("the job", async () => (await station.jobs()).length === 1);
  await station.stop(first);
  await night.run("queue", "release");
  renameSync(ext, `${ext}.off`);
  mkdirSync(ext);
  const daemon = await station.daemon();
  station.drop("second.json", [{ model: { id: "fake", quant: "b" } }]);
  await waitFor("the reason", async () => (await station.status()).why_idle?.includes("mounted?"));
  expect(await station.jobs()).toMatchObject([{ state: "PENDING", attempt_count: 0, fence: 0 }]);
  expect(readdirSync(ext)).toEqual([]);
  expect(await station.violations()).toMatchObject([{ rule: "runs_there" }]);
  rmSync(ext, { recursive: true });
  renameSync(`${ext}.off`, ext);
  daemon.child.kill("SIGHUP");
  await station.waitPlaced("done", 2);
  expect(await station.violations()).toEqual([]);
  // A run that a person takes away under a waiting job: that job is held, with the reason.
  await night.run("queue", "hold");
  station.drop("third.json", [{ model: { id: "fake", quant: "c" } }]);
  await waitFor("the job", async () => (await station.jobs()).length === 3);
  const [root = ""] = readdirSync(ext);
  const run = readdirSync(join(ext, root)).find((name) => name.endsWith("-third")) ?? "";
  rmSync(join(ext, root, run), { recursive: true });
  await night.run("queue", "release");
  await waitFor("the hold", async () => (await station.status()).blocked?.held === 1);
  expect((await station.status()).warnings.at(-1)?.text).toMatch(/is held: its run .* not there/);
  await station.stop(daemon);
});

test("a runner that is added while the daemon runs can be used", async () => {
  const station = await DaemonStation.make();
  const daemon = await station.daemon();
  const server = await fakeOpenAi({ chat: () => goodChat("fake") });
  const added = ["local", "second"].map((name) => ({ name, kind: "openai", url: server.url }));
  station.night.writeMachine({ runners: added });
  station.drop("night.json", [{ runner: "second" }]);
  await station.waitPlaced("done");
  station.night.writeMachine({ runners: added, trusted_stations: [] });
  station.drop("more.json", [{ runner: "second", model: { id: "fake", quant: "b" } }]);
  await waitFor("the reason", async () =>
    (await station.status()).why_idle?.includes("not trusted any more"),
  );
  expect(readdirSync(station.inbox)).toContain("more.json");
  expect(await station.jobs()).toHaveLength(1);
  await station.stop(daemon);
});

test("a store that is removed under a daemon: it ends, and the next one knows all", async () => {
  const station = await DaemonStation.make();
  const daemon = await station.daemon();
  station.drop("night.json");
  await station.waitPlaced("done");
  for (const name of readdirSync(station.state_dir)) {
    if (name.startsWith("queue.db")) rmSync(join(station.state_dir, name));
  }
  daemon.child.kill("SIGHUP");
  const ended = await daemon.finished;
  expect([ended.exit_code, ended.stderr]).toEqual([69, expect.stringContaining("was removed")]);
  const second = await station.daemon();
  expect(await station.jobs()).toMatchObject([{ state: "COMPLETE" }]);
  expect(await station.violations()).toEqual([]);
  await station.stop(second);
});

test("a state directory that is removed under a daemon: it ends and touches nothing", async () => {
  const station = await DaemonStation.make();
  station.gate.shut();
  const daemon = await station.daemon();
  station.drop("night.json");
  await waitFor("a request", () => station.gate.asked > 0);
  rmSync(station.state_dir, { recursive: true, force: true });
  const ended = await daemon.finished;
  expect([ended.exit_code, ended.stderr]).toEqual([69, expect.stringContaining("was removed")]);
  expect(readdirSync(station.inbox).filter((name) => name !== "README.md")).toEqual(["night.json"]);
  station.gate.open();
  const second = await station.daemon();
  await station.waitPlaced("done");
  expect(await station.violations()).toEqual([]);
  await station.stop(second);
});
