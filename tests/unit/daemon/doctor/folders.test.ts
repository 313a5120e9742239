import { describe, expect, it, test } from "vitest";
import { folderLines, type FoldersInput } from "../../../../src/daemon/doctor/checks/folders.ts";
import type { Mount } from "../../../../src/daemon/doctor/mounts.ts";
import { privateFolder, syncedBy } from "../../../../src/daemon/doctor/synced-folder.ts";

const HOME = "/home/me";

function mount(at: string, type: string, change: Partial<Mount> = {}): Mount {
  return { at, type, source: "src", read_only: false, ...change };
}

function look(change: Partial<FoldersInput> = {}) {
  return folderLines({
    folders: [
      { what: "station", path: `${HOME}/bench` },
      { what: "state", path: `${HOME}/.local/state` },
      { what: "runs", path: "/runs" },
      { what: "model lock", path: "/var/lib/touchstoned" },
    ],
    mounts: [mount("/", "ext4"), mount(HOME, "btrfs")],
    home: HOME,
    platform: "linux",
    isThere: () => false,
    faults: [],
    ...change,
  });
}

test("folders on disks of this machine are one line", () => {
  const [line, ...more] = look();
  expect(more).toEqual([]);
  expect(line).toMatchObject({ level: "ok" });
  expect(line?.text).toContain("btrfs, ext4");
});

test("where nobody tells of file systems, that is said and nothing is claimed", () => {
  expect(look({ mounts: null })).toMatchObject([{ level: "ok" }]);
  expect(look({ mounts: null })[0]?.text).toContain("not told");
});

describe("a home on a file server", () => {
  const lines = look({ mounts: [mount("/", "ext4"), mount(HOME, "nfs4")] });

  it("cannot bear the state, and may be looked at for files", () => {
    expect(lines.map(({ level, text }) => [level, text.split(" (")[0]])).toEqual([
      ["warning", "the station"],
      ["failure", "the state"],
    ]);
  });

  it("says why, and where to go", () => {
    expect(lines[1]?.text).toContain("locks and databases do not hold");
    expect(lines[1]?.todo).toContain("XDG_STATE_HOME");
    expect(lines[0]?.text).toContain("a minute late");
  });
});

test.each([
  ["fuse.mergerfs", "failure"],
  ["9p", "failure"],
  ["vfat", "failure"],
  ["tmpfs", "warning"],
] as const)("a state on %s is a %s", (type, level) => {
  const lines = look({ mounts: [mount("/", "ext4"), mount(`${HOME}/.local`, type)] });
  expect(lines).toMatchObject([{ level }]);
});

test("a container's own layer may hold a lock, and loses the queue", () => {
  const lines = look({ mounts: [mount("/", "overlay")] });
  expect(lines.map(({ level }) => level)).toEqual(Array.from({ length: 4 }, () => "warning"));
  expect(lines[1]?.text).toContain("goes with the container");
});

test("what is read-only can bear nothing", () => {
  const lines = look({ mounts: [mount("/", "ext4", { read_only: true }), mount(HOME, "ext4")] });
  expect(lines).toMatchObject([{ level: "failure" }, { level: "failure" }]);
  expect(lines[0]?.text).toContain("read-only");
});

test.each([
  [`${HOME}/Dropbox/bench`, "Dropbox"],
  [`${HOME}/Dropbox (Work)/bench`, "Dropbox"],
  [`${HOME}/OneDrive - Firm`, "OneDrive"],
  [`${HOME}/Library/Mobile Documents/com~apple~CloudDocs/b`, "iCloud Drive"],
  [`${HOME}/Library/CloudStorage/GoogleDrive-me@example.org/My Drive`, "GoogleDrive"],
  [`${HOME}/Nextcloud2/x`, "Nextcloud"],
  [`${HOME}/Dropboxes`, null],
  ["/Dropbox/bench", null],
])("%s is looked after by %s", (path, program) => {
  expect(syncedBy(path, HOME, () => false)).toBe(program);
});

test("a folder that has the mark of a program at its top is that program's", () => {
  const isThere = (path: string): boolean => path === "/data/sync/.stfolder";
  expect(syncedBy("/data/sync/a/b", HOME, isThere)).toBe("Syncthing");
  expect(syncedBy("/data/other", HOME, isThere)).toBeNull();
  // Dropbox keeps its own things in the home, which says nothing about the home.
  expect(syncedBy(`${HOME}/bench`, HOME, (path) => path === `${HOME}/.dropbox`)).toBeNull();
});

test("a station in a synced folder is warned of, with git as the way", () => {
  const [line] = look({ folders: [{ what: "station", path: `${HOME}/Dropbox/bench` }] });
  expect(line).toMatchObject({ level: "warning" });
  expect(line?.text).toContain("Dropbox");
  expect(line?.todo).toContain("git is what carries");
});

describe("folders of macOS that no daemon may see", () => {
  it.each([
    [`${HOME}/Documents/bench`, `${HOME}/Documents`],
    [`${HOME}/Desktop`, `${HOME}/Desktop`],
    ["/Volumes/USB Stick/bench", "/Volumes/USB Stick"],
    [`${HOME}/bench`, null],
    [`${HOME}/Documents2`, null],
  ])("%s: %s", (path, folder) => {
    expect(privateFolder(path, HOME)).toBe(folder);
  });

  it("are warned of there, and nowhere else", () => {
    const folders = [{ what: "station", path: `${HOME}/Documents/bench` }] as const;
    const [line] = look({ folders, platform: "darwin" });
    expect(line?.text).toContain("macOS shows to no background program");
    expect(line?.todo).toContain("Full Disk Access");
    expect(look({ folders })).toMatchObject([{ level: "ok" }]);
  });
});

test("what the daemon does not use is a failure with the command that mends it", () => {
  const faults = ["/s can be written by everyone; run: chmod go-w /s", "the runs are not at /r"];
  expect(look({ faults })).toEqual([
    {
      level: "failure",
      text: "the daemon does not use this: /s can be written by everyone",
      todo: "Run: chmod go-w /s",
    },
    { level: "failure", text: "the runs are not at /r", todo: "Nothing new begins until then." },
  ]);
});
