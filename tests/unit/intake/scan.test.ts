import { describe, expect, it } from "vitest";
import { fitName, judgeName, twinKey } from "../../../src/intake/names.ts";
import { NO_SCAN_YET, scanInbox, type ScanReport } from "../../../src/intake/scan.ts";
import { INBOX, MIN_AGE_MS, World } from "./world.ts";

/** Scans of one process: each goes on from the one before. */
class Scans {
  readonly world = new World();
  max_looks = 100;
  #state = NO_SCAN_YET;

  scan(): ScanReport {
    const { clock, disk } = this.world;
    const now = { wall_ms: clock.now_ms(), monotonic_ms: clock.monotonic_ms() };
    const report = scanInbox(this.#state, now, disk, {
      inbox: INBOX,
      min_age_ms: MIN_AGE_MS,
      max_looks: this.max_looks,
      taken: new Map(),
    });
    this.#state = report.state;
    return report;
  }

  ripeNames(): string[] {
    return this.scan().ripe.map(({ name }) => name);
  }
}

describe("ripeness", () => {
  it("needs two looks that far apart, and says when the second is due", () => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "x");
    expect(scans.scan()).toMatchObject({ ripe: [], waiting: 1, next_due_ms: MIN_AGE_MS });
    scans.world.clock.advance(MIN_AGE_MS - 1);
    expect(scans.scan()).toMatchObject({ ripe: [], next_due_ms: MIN_AGE_MS });
    scans.world.clock.advance(1);
    expect(scans.ripeNames()).toEqual(["a.yaml"]);
  });

  it("starts anew with each byte that is written", () => {
    const scans = new Scans();
    for (let n = 0; n < 5; n += 1) {
      scans.world.drop("a.yaml", "x".repeat(n + 1));
      expect(scans.ripeNames()).toEqual([]);
      scans.world.clock.advance(MIN_AGE_MS - 1000);
    }
    scans.scan();
    scans.world.clock.advance(1000);
    expect(scans.ripeNames()).toEqual(["a.yaml"]);
  });

  it("does not believe the old times of a copy", () => {
    const scans = new Scans();
    const path = `${INBOX}/copied.yaml`;
    scans.world.drop("copied.yaml", "x");
    scans.world.disk.touch(path, 1_000_000_000n);
    expect(scans.ripeNames()).toEqual([]);
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["copied.yaml"]);
  });

  it("sees a replacement of the same size and time, a rename and a touch", () => {
    const scans = new Scans();
    const { world } = scans;
    const path = `${INBOX}/a.yaml`;
    const changes = [
      () => {
        world.disk.remove(path);
        world.drop("a.yaml", "x");
        world.disk.touch(path, 5n);
      },
      () => {
        world.disk.move(path, `${INBOX}/b.yaml`);
        world.disk.move(`${INBOX}/b.yaml`, path);
      },
      () => world.disk.touch(path, 5n),
    ];
    world.drop("a.yaml", "x");
    world.disk.touch(path, 5n);
    for (const change of changes) {
      scans.scan();
      world.clock.advance(MIN_AGE_MS);
      change();
      expect(scans.ripeNames()).toEqual([]);
    }
  });

  it("takes a file from the future, with a warning, by its looks alone", () => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "x");
    scans.world.disk.touch(
      `${INBOX}/a.yaml`,
      BigInt(scans.world.clock.now_ms() + 1e9) * 1_000_000n,
    );
    const [warning, ...more] = scans.scan().warnings;
    expect(warning).toMatch(/inbox\/a\.yaml: .*in the future/);
    expect(more).toEqual([]);
    scans.world.clock.advance(MIN_AGE_MS);
    const second = scans.scan();
    expect(second.ripe).toHaveLength(1);
    expect(second.warnings).toEqual([]); // said once
  });

  it.each([
    ["set back an hour", -3_600_000],
    ["set forward an hour", 3_600_000],
  ])("is not moved by a clock that is %s", (_, step_ms) => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "x");
    scans.scan();
    scans.world.clock.stepWall(step_ms);
    scans.world.clock.advance(MIN_AGE_MS - 1);
    expect(scans.ripeNames()).toEqual([]);
    scans.world.clock.advance(1);
    expect(scans.ripeNames()).toEqual(["a.yaml"]);
  });

  it("does not count a night's sleep as rest", () => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "x");
    scans.scan();
    // Asleep, the wall clock goes on and the monotonic one stands.
    scans.world.clock.stepWall(8 * 3_600_000);
    expect(scans.ripeNames()).toEqual([]);
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["a.yaml"]);
  });

  it("gives an empty file one window more", () => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "");
    scans.scan();
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.scan()).toMatchObject({ ripe: [], next_due_ms: 2 * MIN_AGE_MS });
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["a.yaml"]);
  });

  it("hands out the oldest first", () => {
    const scans = new Scans();
    for (const name of ["b.yaml", "a.yaml", "c.yaml"]) {
      scans.world.drop(name, name);
      scans.world.clock.advance(1000);
    }
    scans.scan();
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["b.yaml", "a.yaml", "c.yaml"]);
  });
});

describe("names", () => {
  it.each([
    ".hidden.yaml",
    "a.yaml~",
    "#a.yaml#",
    ".#a.yaml",
    "a.yaml.swp",
    "4913",
    "a.tmp",
    "a.yaml.part",
    "a.yaml.partial",
    "a.yaml.crdownload",
    "a.download",
    ".~lock.a.yaml#",
    ".goutputstream-X1",
    "._a.yaml",
    ".DS_Store",
    "a.yaml.sb-1a2b3c4d-Xy",
    ".nfs0001",
    ".fuse_hidden01",
    ".syncthing.a.yaml.tmp",
    "~syncthing~a.yaml.tmp",
    "Thumbs.db",
    "a.sync-conflict-20260115-1.yaml",
    ".a.yaml.Xy12Z",
    "a.yaml.icloud",
    "~$a.yaml",
    "README.md",
    "done",
    "failed",
    "rejected",
    "examples",
  ])("passes over %s", (name) => {
    expect(judgeName(name)).toEqual({ kind: "ignored" });
  });

  it.each(["a.yaml", "A.YML", "nacht über alles.json", "a.b.yaml"])("looks at %s", (name) => {
    expect(judgeName(name)).toEqual({ kind: "candidate" });
  });

  it.each([
    ["notes.txt", /queue files end in/],
    ["a\u001Bb.yaml", /control characters/],
    [`${"n".repeat(200)}.yaml`, /longer than 200 bytes/],
  ])("leaves %j in place and says why", (name, why) => {
    expect(judgeName(name)).toMatchObject({ kind: "odd", why: expect.stringMatching(why) });
  });

  it("says of an odd name once what it is, and again when it came back", () => {
    const scans = new Scans();
    scans.world.drop("notes.txt", "x");
    expect(scans.scan().warnings).toEqual([
      expect.stringContaining("inbox/notes.txt: left in place"),
    ]);
    expect(scans.scan().warnings).toEqual([]);
    scans.world.disk.remove(`${INBOX}/notes.txt`);
    scans.scan();
    scans.world.drop("notes.txt", "x");
    expect(scans.scan().warnings).toHaveLength(1);
  });

  it("never says a name in a way that could pass for a line of its own", () => {
    const scans = new Scans();
    scans.world.drop("a\nWRONG: b.yaml", "x");
    const [text] = scans.scan().warnings;
    expect(text).toMatch(/^inbox\/a\\u000aWRONG: b\.yaml: left in place/);
  });

  it("takes one of two names that some file systems hold for the same", () => {
    expect(twinKey("MU\u0308SLI.yaml")).toBe(twinKey("m\u00FCsli.YAML"));
    const scans = new Scans();
    scans.world.drop("A.yaml", "1");
    scans.world.drop("a.yaml", "2");
    expect(scans.scan().warnings).toEqual([
      "inbox/a.yaml: left in place: differs from A.yaml only in case or in the form of its letters; rename it",
    ]);
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["A.yaml"]);
  });

  it("cuts a long name so that it fits after a time and an id", () => {
    const cut = fitName(`${"ü😀".repeat(40)}.yaml`);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(190);
    expect(cut).toMatch(/^[ü😀]+\.yaml$/u);
    expect(fitName("short.yaml")).toBe("short.yaml");
  });
});

describe("a full inbox", () => {
  it("looks at so many files in a scan, says so, and misses none in the end", () => {
    const scans = new Scans();
    scans.max_looks = 10;
    const names = Array.from({ length: 35 }, (_, n) => `f${String(n).padStart(2, "0")}.yaml`);
    for (const name of names) scans.world.drop(name, name);
    const ripe = new Set<string>();
    expect(scans.scan()).toMatchObject({ waiting: 10, not_looked_at: 25, next_due_ms: MIN_AGE_MS });
    for (let scan = 0; scan < 8; scan += 1) {
      scans.world.clock.advance(MIN_AGE_MS / 3);
      for (const name of scans.ripeNames()) ripe.add(name);
    }
    expect([...ripe].sort()).toEqual(names);
  });

  it("goes on when one file cannot be looked at, and fails when the inbox cannot", () => {
    const scans = new Scans();
    scans.world.drop("a.yaml", "1");
    scans.world.drop("b.yaml", "2");
    scans.world.disk.step = (call, path) => {
      if (call === "lstat" && path.endsWith("a.yaml")) throw new Error("EIO: broken");
    };
    const report = scans.scan();
    expect(report.warnings).toEqual(["inbox/a.yaml: cannot be looked at: EIO: broken"]);
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual(["b.yaml"]);
    scans.world.disk.step = () => {
      throw new Error("EACCES");
    };
    expect(() => scans.scan()).toThrow("EACCES");
  });

  it("leaves directories alone", () => {
    const scans = new Scans();
    scans.world.disk.makeDirs(`${INBOX}/sub.yaml`);
    scans.world.disk.makeDirs(`${INBOX}/done`);
    expect(scans.scan().warnings).toEqual(["inbox/sub.yaml: left in place: it is a directory"]);
    scans.world.clock.advance(MIN_AGE_MS);
    expect(scans.ripeNames()).toEqual([]);
  });
});
