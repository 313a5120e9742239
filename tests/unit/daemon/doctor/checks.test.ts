import { describe, expect, it } from "vitest";
import { clockLines, clockSteps } from "../../../../src/daemon/doctor/checks/clock.ts";
import { configLines } from "../../../../src/daemon/doctor/checks/config.ts";
import { diskLines } from "../../../../src/daemon/doctor/checks/disk.ts";
import { gitLines, type GitInput } from "../../../../src/daemon/doctor/checks/git.ts";
import { logLines } from "../../../../src/daemon/doctor/checks/log.ts";
import { nodeLines } from "../../../../src/daemon/doctor/checks/node.ts";
import { serviceLines } from "../../../../src/daemon/doctor/checks/service.ts";
import type { Line } from "../../../../src/daemon/doctor/line.ts";
import type { ServiceReport } from "../../../../src/daemon/service/index.ts";

const NOW = Date.UTC(2026, 10, 29, 7, 0, 0);

function levels(lines: readonly Line[]): string[] {
  return lines.map(({ level }) => level);
}

describe("node", () => {
  const input = {
    program: "0.1.0",
    node: "24.21.0",
    exec_path: "/usr/bin/node",
    platform: "linux",
    has: (_name: string): boolean => true,
  } as const;

  it("names both versions and the place", () => {
    expect(nodeLines(input)).toEqual([
      { level: "ok", text: "touchstoned 0.1.0 on Node 24.21.0 (/usr/bin/node)", todo: null },
    ]);
  });

  it.each([
    ["/home/me/.nvm/versions/node/v24.1.0/bin/node", "nvm"],
    ["/opt/homebrew/Cellar/node/24.1.0/bin/node", "Homebrew"],
    ["/home/me/.volta/tools/image/node/24.1.0/bin/node", "Volta"],
    ["/home/me/.local/share/mise/installs/node/24/bin/node", "mise"],
  ])("says whose version %s is", (exec_path, keeper) => {
    expect(nodeLines({ ...input, exec_path })[0]?.text).toContain(keeper);
  });

  it("fails without git, and on Linux without flock", () => {
    const has = (): boolean => false;
    expect(levels(nodeLines({ ...input, has }))).toEqual(["ok", "failure", "failure"]);
    expect(levels(nodeLines({ ...input, has, platform: "darwin" }))).toEqual(["ok", "failure"]);
    expect(nodeLines({ ...input, has })[2]?.todo).toContain("util-linux");
  });
});

describe("station", () => {
  const fine = { station: "/b", machine_config: "/m.yaml", faults: [], warnings: [] };
  const fault = { file: "/b/touchstoned.yaml", line: 3, column: 1, key: "", message: "bad" };

  it("is one line where nothing is wrong", () => {
    const [line] = configLines({ config: fine, trouble: [], runners: 2 });
    expect(line).toMatchObject({ level: "ok" });
    expect(line?.text).toContain("2 runners");
  });

  it("has a failure for each fault, with its place and what to do", () => {
    const faults = [
      { ...fault, hint: "Write good." },
      { ...fault, line: 9, hint: null },
    ];
    const lines = configLines({ config: { ...fine, faults }, trouble: [], runners: null });
    expect(lines).toEqual([
      { level: "failure", text: "/b/touchstoned.yaml:3:1: bad.", todo: "Write good." },
      {
        level: "failure",
        text: "/b/touchstoned.yaml:9:1: bad.",
        todo: "Correct it, then: touchstoned config check",
      },
    ]);
  });

  it.each([
    ["not trusted: /b can be written by its group; run: chmod g-w /b", "Run: chmod g-w /b"],
    [
      "not trusted: /b is not among the trusted_stations of m; run `touchstoned init /b`, or add it",
      "Run: touchstoned init /b",
    ],
    ["not trusted: something else", "touchstoned init /b"],
  ])("fails where it is not trusted: %s", (warning, todo) => {
    const config = { ...fine, warnings: [warning] };
    const [line] = configLines({ config, trouble: [], runners: 1 });
    expect(line).toMatchObject({ level: "failure", todo });
  });

  it("tells what was thrown where not even the files could be looked for", () => {
    const lines = configLines({ config: null, trouble: [new Error("HOME is odd")], runners: null });
    expect(lines).toMatchObject([{ level: "failure", text: "HOME is odd" }]);
  });
});

describe("disk", () => {
  const place = { what: "state", path: "/s", free_mb: 50_000, free_files: 1e6 };

  it.each([
    [50_000, 1e6, "ok"],
    [2500, 1e6, "warning"],
    [500, 1e6, "failure"],
    [50_000, 900, "failure"],
    [null, null, "ok"],
  ])("with %s MB and %s files left is %s", (free_mb, free_files, level) => {
    const lines = diskLines({ places: [{ ...place, free_mb, free_files }], min_free_mb: 1000 });
    expect(levels(lines)).toEqual([level]);
  });

  it("says what is left and what happens below which limit", () => {
    const [line] = diskLines({ places: [{ ...place, free_mb: 500 }], min_free_mb: 1000 });
    expect(line?.text).toContain("500 MB left: nothing new is begun below 1.0 GB");
  });
});

describe("clock", () => {
  const input = { now_ms: NOW, seen: [], synchronized: null, steps: [] };

  it("is fine where nothing speaks against it", () => {
    expect(levels(clockLines(input))).toEqual(["ok"]);
    expect(clockLines({ ...input, synchronized: true })[0]?.text).toContain("time service");
  });

  it.each([Date.UTC(1970, 0, 1), Date.UTC(2024, 11, 31), Date.UTC(2136, 0, 1)])(
    "fails in the wrong year (%s)",
    (now_ms) => {
      expect(levels(clockLines({ ...input, now_ms }))).toEqual(["failure"]);
    },
  );

  it("fails where something was written later than now, and names the latest", () => {
    const seen = [
      { what: "the log", at_ms: NOW + 3_600_000 },
      { what: "the store", at_ms: NOW + 7_200_000 },
      { what: "a moment", at_ms: NOW + 1000 },
    ];
    const lines = clockLines({ ...input, seen });
    expect(levels(lines)).toEqual(["failure"]);
    expect(lines[0]?.text).toContain("the store is 2 h later");
    expect(levels(clockLines({ ...input, seen: seen.slice(2) }))).toEqual(["ok"]);
  });

  it("warns where nobody keeps it", () => {
    expect(levels(clockLines({ ...input, synchronized: false }))).toEqual(["warning"]);
  });

  it("finds the leaps of a week in the daemon's log", () => {
    const line = (hours: number, msg: string): string =>
      JSON.stringify({ level: 30, time: new Date(NOW - hours * 3_600_000).toISOString(), msg });
    const log = [
      'ut off {"msg":"clock set back by about 9 h"}',
      line(400, "clock set back by about 2 h"),
      line(30, "clock set back by about 1 h"),
      line(20, "job A begins"),
      line(2, "clock set forward by about 3 min"),
    ].join("\n");
    const steps = clockSteps(log, NOW);
    expect(steps.map(({ text }) => text)).toEqual([
      "clock set back by about 1 h",
      "clock set forward by about 3 min",
    ]);
    const [warned] = clockLines({ ...input, steps });
    expect(warned?.text).toBe("clock set forward by about 3 min, 2 h ago (2 times in a week)");
  });
});

describe("log", () => {
  it("is small talk while it is small, and a warning once it is not", () => {
    expect(levels(logLines({ files: [] }))).toEqual(["ok"]);
    expect(levels(logLines({ files: [{ path: "/a.log", mb: 3 }] }))).toEqual(["ok"]);
    const [line] = logLines({
      files: [
        { path: "/a.log", mb: 90 },
        { path: "/b.log", mb: 400 },
      ],
    });
    expect(line).toMatchObject({ level: "warning" });
    expect(line?.text).toContain("490 MB, most of it in /b.log");
  });
});

describe("git", () => {
  const report = {
    work_tree: "/b",
    branch: "main",
    obstacle: null,
    index_lock_age_s: null,
  } as const;
  const outbox = { waiting: 0, reason: null, tried_at: null };
  const look = (change: Partial<GitInput>): Line[] =>
    gitLines({ mode: "branch", report, outbox, ...change });

  it("says where evidence goes", () => {
    expect(look({})).toMatchObject([{ level: "ok" }]);
    expect(look({})[0]?.text).toContain("branch main of /b");
    expect(look({ mode: "ref" })[0]?.text).toContain("branch of its own");
    expect(look({ mode: "off" })[0]?.text).toContain("evidence.commit");
  });

  it("warns of what waits, with what stands in the way now", () => {
    const waiting = { waiting: 2, reason: "a rebase is in progress", tried_at: null };
    const [line] = look({ outbox: waiting, report: { ...report, obstacle: "HEAD is detached" } });
    expect(line).toMatchObject({ level: "warning" });
    expect(line?.text).toBe("2 pieces of evidence are not committed yet: HEAD is detached");
    expect(look({ outbox: waiting })[0]?.text).toContain("a rebase");
    expect(look({ outbox: { ...waiting, waiting: 1, reason: null } })).toEqual([
      {
        level: "warning",
        text: "1 piece of evidence is not committed yet",
        todo: "touchstoned evidence commit",
      },
    ]);
    expect(look({ outbox: waiting, mode: "off" }).map(({ level }) => level)).toEqual(["ok", "ok"]);
  });

  it("does not warn of an obstacle while nothing waits", () => {
    expect(look({ report: { ...report, obstacle: "a merge is in progress" } })).toMatchObject([
      { level: "ok" },
    ]);
  });

  it("fails without a repository, unless nothing is to be committed", () => {
    const none = { ...report, work_tree: null, branch: null, obstacle: "git is not installed" };
    expect(levels(look({ report: none }))).toEqual(["failure"]);
    expect(levels(look({ report: none, mode: "off" }))).toEqual(["ok"]);
  });

  it("warns of a lock that was left behind, and not of one that git holds", () => {
    expect(levels(look({ report: { ...report, index_lock_age_s: 3 } }))).toEqual(["ok"]);
    const [line] = look({ report: { ...report, index_lock_age_s: 7200 } });
    expect(line?.todo).toContain("rm /b/.git/index.lock");
  });
});

describe("service", () => {
  const report: ServiceReport = {
    manager: "systemd-user",
    installed: true,
    enabled: true,
    running: true,
    pid: 7,
    problems: [],
    linger: true,
    station: "/b",
    version: "0.1.0",
    lib: "/lib",
    definition: "/unit",
  };
  const look = (change: Partial<ServiceReport>): Line[] =>
    serviceLines({ report: { ...report, ...change }, root: "/b", version: "0.1.0" });

  it("is one line where it runs", () => {
    expect(look({})).toEqual([
      {
        level: "ok",
        text: "a user unit of systemd: starts by itself, runs (pid 7), without a login, too",
        todo: null,
      },
    ]);
    expect(levels(look({ version: "0.1.0+a4376afe" }))).toEqual(["ok"]);
  });

  it("warns where there is none, and fails where it does not run", () => {
    expect(look({ manager: "none" })).toMatchObject([{ level: "warning" }]);
    expect(look({ manager: "none" })[0]?.todo).toContain("touchstoned install");
    expect(look({ running: false, pid: null })).toMatchObject([
      { level: "failure", todo: "touchstoned start" },
    ]);
  });

  it("names commands that do what they say, whatever the stations are called", () => {
    const [line] = look({ station: "/o'ther one" });
    expect(line?.todo).toContain(String.raw`touchstoned doctor --station '/o'\''ther one'.`);
    expect(line?.todo).toContain("touchstoned uninstall, then touchstoned install --station /b");
  });

  it("tells each problem, as a failure where nothing runs for it", () => {
    const problems = [{ what: "linger is off", do: "loginctl enable-linger" }];
    expect(look({ problems })).toEqual([
      { level: "warning", text: "service: linger is off", todo: "loginctl enable-linger" },
    ]);
    expect(levels(look({ problems, running: false }))).toEqual(["failure"]);
    expect(look({ problems: [{ what: "x", do: "" }] })[0]?.todo).toContain("touchstoned install");
  });

  it("warns of another station and of another version", () => {
    expect(look({ station: "/other" })[0]?.todo).toContain("--station /other");
    expect(look({ version: "0.0.9" })[0]?.todo).toContain("touchstoned upgrade");
  });
});
