import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { daemonLines, type DaemonInput } from "../../../../src/daemon/doctor/checks/daemon.ts";
import { inboxLines, recentlyRejected } from "../../../../src/daemon/doctor/checks/inbox.ts";
import { lockLines } from "../../../../src/daemon/doctor/checks/locks.ts";
import { runnersLines } from "../../../../src/daemon/doctor/checks/runners.ts";
import type { DaemonSnapshot } from "../../../../src/daemon/snapshot.ts";
import type { StationStatus } from "../../../../src/daemon/status.ts";
import { machineSchema } from "../../../../src/station/index.ts";
import { fakeLlamaServer } from "../../../helpers/fake-llama-server.ts";
import { place, take } from "../../../helpers/lock.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

const NOW = Date.UTC(2026, 10, 29, 7, 0, 0);
const SOON = new Date(NOW - 30_000).toISOString();

function statusOf(change: Partial<StationStatus> = {}): StationStatus {
  // Other parts of it are not looked at here.
  const base: Partial<StationStatus> = {
    root: "/b",
    state_dir: "/s",
    daemon: { running: true, pid: 7, since: SOON, phase: "idle", stopping: false },
    why_idle: "idle, the queue is empty",
    running: null,
    orphan: null,
    counts: null,
    blocked: null,
    inbox: [],
    inbox_blocked: null,
    warnings: [],
    store_trouble: null,
    evidence_waiting: null,
    wrong: null,
  };
  return { ...base, ...change } as StationStatus;
}

const STOPPED = { running: false, pid: null, since: null, phase: null, stopping: false } as const;

describe("daemon", () => {
  const look = (change: Partial<StationStatus> = {}, updated = SOON) => {
    const snapshot = { updated, started: SOON } as DaemonSnapshot;
    return daemonLines({ status: statusOf(change), snapshot, now_ms: NOW } satisfies DaemonInput);
  };

  it("is one line while it moves, with why nothing runs", () => {
    expect(look()).toMatchObject([{ level: "ok" }]);
    expect(look()[0]?.text).toContain("pid 7): idle, the queue is empty");
    expect(look({ why_idle: null })[0]?.text).toContain("so does a job");
  });

  it("fails where it has not moved for long", () => {
    const [line] = look({}, new Date(NOW - 3_600_000).toISOString());
    expect(line).toMatchObject({ level: "failure" });
    expect(line?.text).toContain("has not moved for 60 min");
    expect(line?.todo).toContain("kill 7");
  });

  it("is no missing one where somebody holds the lock without a word", () => {
    const [line] = look({ daemon: { ...STOPPED, mute: { pid: 9, begins: false } } });
    expect(line).toMatchObject({ level: "failure" });
    expect(line?.text).toBe(
      "a daemon (pid 9) holds the station's lock and has not said what it does: is the disk full?",
    );
    expect(line?.todo).toContain("/s");
    expect(look({ daemon: { ...STOPPED, mute: { pid: 9, begins: true } } })).toMatchObject([
      { level: "warning" },
    ]);
  });

  it("is a warning where none runs, and a failure where something waits for it", () => {
    expect(look({ daemon: STOPPED })).toMatchObject([{ level: "warning" }]);
    const inbox = [{ name: "a.yaml", ripe: null, stuck: null }];
    const [line] = look({ daemon: STOPPED, inbox });
    expect(line).toMatchObject({ level: "failure" });
    expect(line?.text).toContain("1 job or file waits");
    const orphan = { job_id: "J", step: "eval", pid: 9 };
    expect(look({ daemon: STOPPED, orphan })[0]?.text).toContain("eval of job J runs on");
  });

  it("tells what it complained of in the last day, the last three", () => {
    const at = (hours: number): string => new Date(NOW - hours * 3_600_000).toISOString();
    const warnings = [30, 4, 3, 2, 1].map((hours) => ({ at: at(hours), text: `w${hours}` }));
    const lines = look({ warnings });
    expect(lines.map(({ text }) => /w\d+/.exec(text)?.[0])).toEqual([undefined, "w3", "w2", "w1"]);
  });
});

describe("inbox", () => {
  const look = (change: Partial<StationStatus>, inbox = tempDir()) =>
    inboxLines({
      inbox,
      status: statusOf(change),
      now_ms: NOW,
      rejected: recentlyRejected(inbox, NOW),
      distrust: null,
    });

  it("counts what waits", () => {
    expect(look({})[0]?.text).toBe("nothing waits in the inbox");
    const inbox = [{ name: "a.yaml", ripe: SOON, stuck: null }];
    expect(look({ inbox })).toMatchObject([{ level: "ok", text: "1 file to be taken up" }]);
  });

  it("fails where nothing is taken up, and warns of what cannot be", () => {
    expect(look({ inbox_blocked: "run: chmod go-w /i" })).toMatchObject([{ level: "failure" }]);
    const inbox = [{ name: "e\u001b[2J.yaml", ripe: null, stuck: "ENOSPC" }];
    const [line] = look({ inbox });
    expect(line?.text).toContain(String.raw`e\u001b[2J.yaml is not taken up: ENOSPC`);
  });

  it("is missing before the first start", () => {
    expect(look({}, join(tempDir(), "none"))).toMatchObject([{ level: "warning" }]);
  });

  it("tells what was rejected in the last day, with what to do", () => {
    const inbox = tempDir();
    mkdirSync(join(inbox, "rejected"));
    const reason = (name: string, hours: number): void => {
      const text = JSON.stringify({
        file: name,
        rejected_at: new Date(NOW - hours * 3_600_000).toISOString(),
        message: `${name}:3:1: no such pack\nand more`,
        what_to_do: "Name another.",
      });
      writeFileSync(join(inbox, "rejected", `${name}.reason.json`), text);
    };
    for (const [name, hours] of [
      ["old", 48],
      ["a", 5],
      ["b", 4],
      ["c", 3],
      ["d", 2],
    ] as const) {
      reason(name, hours);
    }
    writeFileSync(join(inbox, "rejected", "torn.reason.json"), '{"file": "to');
    const lines = look({}, inbox);
    expect(lines.map(({ text }) => text)).toEqual([
      "d was rejected 2 h ago: d:3:1: no such pack",
      "c was rejected 3 h ago: c:3:1: no such pack",
      "b was rejected 4 h ago: b:3:1: no such pack",
      "1 more file was rejected in the last day",
    ]);
    expect(lines[0]?.todo).toBe("Name another.");
  });
});

describe("locks", () => {
  const model = { source: "user", why: "there is none for all users" };

  it("says that it is free, and makes nothing", async () => {
    const { path } = place();
    const lines = await lockLines({
      model: { path, ...model },
      daemon_path: null,
      daemon_pid: null,
    });
    expect(lines).toMatchObject([{ level: "ok" }]);
    expect(lines[0]?.text).toContain("never taken");
  });

  it("says who holds it", async () => {
    const { path } = place();
    const lock = await take(path);
    const lines = await lockLines({
      model: { path, ...model },
      daemon_path: null,
      daemon_pid: null,
    });
    lock.release();
    expect(lines[0]?.text).toContain(`pid ${process.pid} (test, run RUN1)`);
  });

  it("warns of a daemon's lock that no daemon speaks for", async () => {
    const [{ path }, { path: daemon_path }] = [place(), place()];
    const lock = await take(daemon_path);
    const input = { model: { path, ...model }, daemon_path };
    const lines = await lockLines({ ...input, daemon_pid: null });
    const spoken = await lockLines({ ...input, daemon_pid: process.pid });
    lock.release();
    expect(lines[1]).toMatchObject({ level: "warning" });
    expect(spoken).toHaveLength(1);
  });

  it("warns of a lock of one's own where there is one for all", async () => {
    const { path } = place();
    const why = "/var/lib/x is there, but this user may not use the lock in it";
    const lines = await lockLines({
      model: { path, source: "user", why },
      daemon_path: null,
      daemon_pid: null,
    });
    expect(lines[1]?.todo).toContain("group");
  });
});

describe("runners", () => {
  const look = (runners: unknown[], needed: string[] = [], id?: string, stopped: string[] = []) =>
    runnersLines({
      stopped,
      machine: machineSchema.parse({ runners }),
      machine_path: "/m.yaml",
      needed,
      model: id === undefined ? null : { runner: needed[0] ?? "", id },
      env: { PATH: "/nowhere" },
      clock: systemClock,
      home: tempDir(),
    });

  it("fails where none is declared, with one to copy", async () => {
    const [line] = await look([]);
    expect(line).toMatchObject({ level: "failure" });
    expect(line?.todo).toContain("kind: ollama");
  });

  it("says what a runner serves", async () => {
    const { url } = await fakeLlamaServer({ model: "qwen", slots: 3 });
    const lines = await look([{ name: "desk", kind: "llama-server", url }], ["desk"], "qwen");
    expect(lines).toMatchObject([{ level: "ok" }]);
    expect(lines[0]?.text).toBe("runner desk (llama-server): b1-fake; 3 slots; qwen");
  });

  it("warns where it does not serve the model that slots are asked for", async () => {
    const { url } = await fakeLlamaServer({ model: "qwen" });
    const lines = await look([{ name: "desk", kind: "llama-server", url }], ["desk"], "llama");
    expect(lines[1]).toMatchObject({ level: "warning" });
    expect(lines[1]?.text).toContain("does not serve llama");
  });

  it("warns of one that a killed calibration had stopped, until it is there again", async () => {
    const commands = { stop_command: "stop it", start_command: "systemctl start llama" };
    const runner = { name: "desk", kind: "llama-server", ...commands };
    const away = [{ ...runner, url: "http://127.0.0.1:9" }];
    const lines = await look(away, [], undefined, ["desk"]);
    expect(lines).toMatchObject([
      { level: "warning" },
      {
        level: "warning",
        text: "runner desk was stopped for a calibration that was killed, and nothing has started it again",
        todo: "Start it: systemctl start llama. The next calibration does it, too: touchstoned slots calibrate --runner desk",
      },
    ]);
    expect(await look(away)).toHaveLength(1);
    const { url } = await fakeLlamaServer();
    expect(await look([{ ...runner, url }], [], undefined, ["desk"])).toHaveLength(1);
  });

  it("fails for one that is needed and does not answer, and warns of another", async () => {
    const dead = { kind: "llama-server", url: "http://127.0.0.1:9" };
    const lines = await look(
      [
        { name: "a", ...dead },
        { name: "b", ...dead },
      ],
      ["a"],
    );
    expect(lines.map(({ level }) => level)).toEqual(["failure", "warning"]);
    expect(lines[0]?.todo).toContain("runner probe a");
  });

  it("says that one is loading", async () => {
    const { url } = await fakeLlamaServer({ loading: true });
    const lines = await look([{ name: "desk", kind: "llama-server", url }], ["desk"]);
    expect(lines[0]?.text).toContain("is loading its model");
  });

  it("looks for what one lacks that would be started", async () => {
    const home = tempDir();
    const model_file = join(home, "m.gguf");
    const start = { model_file, binary: "llama-server" };
    const runner = { name: "own", kind: "llama-server", start };
    expect((await look([runner], ["own"]))[0]?.text).toContain(`there is no model file`);
    writeFileSync(model_file, "");
    expect((await look([runner], ["own"]))[0]?.text).toContain("there is no program llama-server");
    const started = { ...runner, start: { ...start, binary: process.execPath } };
    expect(await look([started], ["own"])).toMatchObject([{ level: "ok" }]);
  });

  it("fails where the file of its key cannot be used", async () => {
    const keyed = { name: "k", kind: "openai", url: "http://127.0.0.1:9", api_key_file: "/none" };
    const [line] = await look([keyed], ["k"]);
    expect(line).toMatchObject({ level: "failure" });
    expect(line?.text).toContain("api_key_file");
  });
});
